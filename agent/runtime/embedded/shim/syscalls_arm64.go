package shim

const callSetns = 268
