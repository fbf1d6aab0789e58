package main

import (
	"errors"
	"fmt"

	"github.com/spf13/pflag"

	"github.com/berthproject/berth/agent/runtime/embedded"
)

// What --runtime says.
const (
	runtimeAuto     = "auto"
	runtimeCRI      = "cri"
	runtimeEmbedded = "embedded"
)

func runtimeFlag(flags *pflag.FlagSet, into *string) {
	flags.StringVar(into, "runtime", runtimeAuto, "what runs pods: cri (containerd, or what speaks CRI v1), embedded (Berth's own: nothing is installed; containment, not a security boundary), or auto: cri where it is there, else embedded")
}

// embeds decides whether pods run in the embedded runtime. cri is what keeps a runtime that speaks CRI from
// being used; named says that the user has named one. An error says what each way lacks.
func embeds(asked string, named bool, cri error) (bool, error) {
	if named && asked == runtimeAuto {
		asked = runtimeCRI
	}
	switch asked {
	case runtimeCRI:
		return false, cri
	case runtimeEmbedded:
		if named {
			return false, errors.New("--runtime embedded: it is no container runtime at a socket; leave out --runtime-endpoint")
		}
		return true, lacking(embedded.Missing())
	case runtimeAuto:
		if cri == nil {
			return false, nil
		}
		if err := lacking(embedded.Missing()); err != nil {
			return false, errors.Join(err, cri)
		}
		return true, nil
	}
	return false, fmt.Errorf("--runtime %q: must be auto, cri or embedded", asked)
}

func lacking(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("the embedded runtime cannot run pods here: %w", err)
}
