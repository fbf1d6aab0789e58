package main

import (
	"fmt"
	"os"
	"strings"
	"syscall"
)

func main() {
	program := chooseShell(os.Environ())
	err := syscall.Exec(program, append([]string{"sh"}, os.Args[1:]...), os.Environ())
	fmt.Fprintf(os.Stderr, "sh: %s: %v\n", program, err)
	os.Exit(127)
}

// chooseShell returns the program that keeps all variables of the environment.
func chooseShell(environment []string) string {
	for _, variable := range environment {
		if name, _, _ := strings.Cut(variable, "="); strings.ContainsAny(name, "-.") {
			return "/bin/bash"
		}
	}
	return "/bin/busybox"
}
