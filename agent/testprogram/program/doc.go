// Command program is the test program as a small static binary, which tests put into images.
package main
