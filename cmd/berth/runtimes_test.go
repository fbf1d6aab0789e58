package main

import (
	"errors"
	"strings"
	"testing"

	"github.com/berthproject/berth/agent/runtime/embedded"
)

// TestEmbeds: which runtime is taken, whatever this machine can do.
func TestEmbeds(t *testing.T) {
	none := errors.New("no CRI")
	lacks := ""
	if err := embedded.Missing(); err != nil {
		lacks = "cannot run pods here"
	}
	for name, tc := range map[string]struct {
		asked string
		named bool
		cri   error
		embed bool
		words string // of the error; "": none
	}{
		"auto, CRI is there":     {runtimeAuto, false, nil, false, ""},
		"auto, without CRI":      {runtimeAuto, false, none, true, lacks},
		"auto, a socket named":   {runtimeAuto, true, none, false, "no CRI"},
		"CRI, which is not":      {runtimeCRI, false, none, false, "no CRI"},
		"embedded, CRI is there": {runtimeEmbedded, false, nil, true, lacks},
		"embedded with a socket": {runtimeEmbedded, true, nil, false, "leave out --runtime-endpoint"},
		"another one":            {"docker", false, nil, false, `"docker": must be auto, cri or embedded`},
	} {
		embed, err := embeds(tc.asked, tc.named, tc.cri)
		switch {
		case tc.words != "":
			if err == nil || !strings.Contains(err.Error(), tc.words) {
				t.Errorf("%s: %v, want %q in it", name, err, tc.words)
			}
		case err != nil || embed != tc.embed:
			t.Errorf("%s: %v, %v; want %v", name, embed, err, tc.embed)
		}
	}
}
