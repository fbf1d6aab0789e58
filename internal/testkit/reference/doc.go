// Package reference compares the documents in docs/reference with the code from which they are generated.
//
// A test generates the text and calls Check, or CheckSection if several packages contribute to one document. With
// the flag -update the test writes the document instead. The package has helpers for Markdown tables.
//
// Generated text must not depend on the machine: host name, home directory, number of CPUs or Go version.
package reference
