package main

import (
	"fmt"
	"io"
)

// printWarnings prints warnings, one per line.
func printWarnings[T any](w io.Writer, warnings ...T) {
	for _, warning := range warnings {
		fmt.Fprintln(w, "berth: warning:", warning)
	}
}
