package main

import (
	"os"

	"github.com/berthproject/berth/agent/testprogram"
)

func main() { os.Exit(testprogram.Main(os.Args[1:], os.Stdout, os.Stderr)) }
