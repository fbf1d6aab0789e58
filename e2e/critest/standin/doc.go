// Command standin is the program of the substitute images for critest. The name in its first argument selects
// what it does. nginx and httpd serve a page, ipcs lists shared memory, pgrep finds processes, and nnp prints
// the effective user.
package main
