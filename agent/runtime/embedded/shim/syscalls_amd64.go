package shim

const callSetns = 308
