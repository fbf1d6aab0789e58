package main

import (
	"os"

	"github.com/berthproject/berth/agent/workload"
)

func main() { os.Exit(workload.Main(os.Args[1:], os.Stdout, os.Stderr)) }
