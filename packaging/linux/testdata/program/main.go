// Command program stands for berth: it writes manual pages and completion scripts.
package main

import "os"

func main() {
	switch os.Args[1] {
	case "man":
		if os.MkdirAll(os.Args[2], 0o755) != nil || os.WriteFile(os.Args[2]+"/berth.1", []byte(".TH BERTH 1\n"), 0o644) != nil {
			os.Exit(1)
		}
	default:
		os.Stdout.WriteString(os.Args[1] + "\n")
	}
}
