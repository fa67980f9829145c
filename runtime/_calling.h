/* _calling.h - what _calling.c, which reads calls, and _direct.c, the types, share. */
#ifndef BITLEX_CALLING_H
#define BITLEX_CALLING_H

#include "_tokens.h"

typedef PyObject *(*Called)(Encoder *self, PyObject *const *arguments, Py_ssize_t count);

/* What calls of one object go to. */
typedef struct {
    PyObject_HEAD
    Encoder *encoder;
    PyObject *allowed, *disallowed;                   /* Specials or None, where a call says nothing of special tokens */
    PyObject *policies;                               /* {what it says of both: (Specials or None, Specials or None)} */
    PyObject *allowed_special, *disallowed_special;   /* what is meant where it says something of the other */
    PyObject *before, *behind;                        /* tuples of ids, for add_special_tokens=True */
    int nfc;                                          /* only a text in NFC */
    int strict;                                       /* only a str */
    int again;                                        /* where it has a token that is disallowed, the function is called */
    int prefix;                                       /* with a space in front, if there is none */
} Direct;

typedef struct {
    PyObject_HEAD
    vectorcallfunc vectorcall;
    PyObject *function;
    PyObject *owner;   /* the class; NULL until it is told */
    Py_ssize_t offset; /* of the slot in its objects */
    Called called;
    Py_ssize_t given; /* how many arguments it needs, the object not counted: 1 or 2 */
    int ordinary;     /* no token is special */
    int takes;        /* bits of OPTIONS */
} DirectMethod;

#if defined(__GNUC__)
#pragma GCC visibility push(hidden)
#endif

/* How a DirectMethod is called. */
PyObject *bitlex_py_call_method(PyObject *callable, PyObject *const *arguments, size_t flags, PyObject *names);

#if defined(__GNUC__)
#pragma GCC visibility pop
#endif
#endif
