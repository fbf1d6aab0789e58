// Package archtest tests the rules of ARCHITECTURE.md: which package may import which, and
// what the engine may use. It also tests the size of files and functions, the reasons for
// dependencies, and the words that documents and comments avoid.
package archtest
