package main

import (
	"fmt"
	"net"
	"strconv"
	"strings"

	"github.com/spf13/pflag"
)

// insecureRegistryFlag defines --insecure-registry.
func insecureRegistryFlag(flags *pflag.FlagSet, registries *[]string) {
	flags.StringSliceVar(registries, "insecure-registry", nil, "registries that the embedded runtime may use with plain HTTP, as `HOST` or HOST:PORT; all others must use HTTPS")
}

// validateInsecureRegistries returns an error unless each entry is HOST or HOST:PORT.
func validateInsecureRegistries(list []string) error {
	for _, r := range list {
		host, port := r, ""
		if h, p, err := net.SplitHostPort(r); err == nil {
			host, port = h, p
		}
		n, err := strconv.Atoi(port)
		if host == "" || strings.ContainsAny(host, "/@ ") || port != "" && (err != nil || n < 1 || n > 65535) {
			return fmt.Errorf("--insecure-registry %q: must be HOST or HOST:PORT, such as localhost:5000", r)
		}
	}
	return nil
}
