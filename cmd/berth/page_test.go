package main

import (
	"net"
	"testing"

	"github.com/spf13/pflag"
)

// TestPageAddress checks that the page uses another port if the default port is taken. It fails if the port of the flag
// is taken.
func TestPageAddress(t *testing.T) {
	occupied, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = occupied.Close() }()
	var page pageListener
	f := pflag.NewFlagSet("", pflag.ContinueOnError)
	page.addFlag(f, pageAddress)
	page.address = occupied.Addr().String() // the default
	fallback, err := page.listen()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = fallback.Close() }()
	if err := f.Set(pageListenFlag, occupied.Addr().String()); err != nil {
		t.Fatal(err)
	}
	if l, err := page.listen(); err == nil {
		_ = l.Close()
		t.Errorf("--%s with a taken port: got address %s, want an error", pageListenFlag, l.Addr())
	}
	for address, valid := range map[string]bool{"": true, "127.0.0.1:0": true, "[::1]:8444": true, "127.0.0.1": false, "0.0.0.0:8444": false, ":8444": false, "example.com:8444": false} {
		page.address = address
		if err := page.validate(); (err == nil) != valid {
			t.Errorf("address %q: got error %v, want valid: %t", address, err, valid)
		}
	}
}
