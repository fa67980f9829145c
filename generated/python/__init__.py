"""A module of tables for each family, and the loop that reads them (`scan`). DO NOT EDIT."""
