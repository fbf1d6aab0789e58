//go:build !linux

package main

import (
	"fmt"
	"os"
)

func main() {
	fmt.Fprintln(os.Stderr, "critest: containers require Linux")
	os.Exit(1)
}
