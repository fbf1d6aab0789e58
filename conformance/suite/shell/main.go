package main

import (
	"fmt"
	"os"
	"strings"
	"syscall"
)

func main() {
	program := choose(os.Environ())
	err := syscall.Exec(program, append([]string{"sh"}, os.Args[1:]...), os.Environ())
	fmt.Fprintf(os.Stderr, "sh: %s: %v\n", program, err)
	os.Exit(127)
}

// choose returns the program that keeps the environment.
func choose(environment []string) string {
	for _, variable := range environment {
		if name, _, _ := strings.Cut(variable, "="); strings.ContainsAny(name, "-.") {
			return "/bin/bash"
		}
	}
	return "/bin/busybox"
}
