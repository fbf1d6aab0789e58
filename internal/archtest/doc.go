// Package archtest holds the rules of the house as tests: which room may import
// which, that the engine is pure, how long files and functions may be, who may
// link the API server, that each room says what it is for, and that
// ARCHITECTURE.md's table has what there is.
//
// A rule is changed here and in ARCHITECTURE.md together, or not at all.
package archtest
