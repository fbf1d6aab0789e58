package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/spf13/pflag"
	"golang.org/x/sys/unix"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	criapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/berthproject/berth/agent/real"
	"github.com/berthproject/berth/agent/runtime/cri"
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

// criWithin is how long a container runtime has to say whether it can run pods.
const criWithin = 2 * time.Second

// passing is a fault of a container runtime that may pass by itself: who has asked for that runtime waits.
type passing struct{ error }

// lasting is a fault that stays, if it is one.
func lasting(err error) error {
	if errors.As(err, &passing{}) {
		return nil
	}
	return err
}

// criFault says why no pods can be run by what listens at a socket, as far as it is known within criWithin; nothing of it
// where the embedded runtime is asked for.
func criFault(asked, endpoint string) error {
	if asked == runtimeEmbedded {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), criWithin)
	defer cancel()
	c, err := cri.Dial(ctx, endpoint)
	if err != nil {
		return err
	}
	defer func() { _ = c.Close() }()
	_, err = c.Version(ctx)
	if status.Code(err) == codes.Unimplemented {
		return fmt.Errorf("what listens at %s does not speak CRI v1 (the containerd that comes with Docker does with its disabled_plugins emptied, in /etc/containerd/config.toml)", endpoint)
	}
	var s *criapi.RuntimeStatus
	if err == nil {
		s, err = c.Status(ctx)
	}
	if err != nil {
		return passing{fmt.Errorf("the container runtime at %s does not answer: %s", endpoint, status.Convert(err).Message())}
	}
	if err := real.Unready(s); err != nil {
		return passing{fmt.Errorf("%s: %w", endpoint, err)}
	}
	return nil
}

// embeds decides whether pods run in the embedded runtime, with its things in dir ("": on a disk that is made for
// them). cri is what keeps a runtime that speaks CRI from being used; named says that the user has named one. An error
// says what each way lacks.
func embeds(asked string, named bool, cri error, dir string) (bool, error) {
	if named && asked == runtimeAuto {
		asked = runtimeCRI
	}
	switch asked {
	case runtimeCRI:
		return false, lasting(cri)
	case runtimeEmbedded:
		if named {
			return false, errors.New("--runtime embedded: it is no container runtime at a socket; leave out --runtime-endpoint")
		}
		return true, lacking(dir)
	case runtimeAuto:
		lacks := lacking(dir)
		switch { // pods that run go before what is there now: another runtime would run them besides
		case dir != "" && real.RanEmbedded(dir) && lacks == nil:
			return true, nil
		case cri == nil || dir != "" && real.RanCRI(dir) && lasting(cri) == nil:
			return false, nil
		case lacks != nil:
			return false, errors.Join(lacks, cri)
		}
		return true, nil
	}
	return false, fmt.Errorf("--runtime %q: must be auto, cri or embedded", asked)
}

// insteadOf says why pods run in the embedded runtime though something listens at the socket of another one.
func insteadOf(cri error) string {
	if cri == nil {
		return "pods of this node run there already"
	}
	return cri.Error()
}

func lacking(dir string) error {
	err := errors.Join(embedded.Missing(), overlaid(dir))
	if err == nil {
		return nil
	}
	return fmt.Errorf("the embedded runtime cannot run pods here: %w", err)
}

// overlaid refuses a directory on an overlay file system, as a container's own is: the kernel lays no other one over it.
func overlaid(dir string) error {
	var fs unix.Statfs_t
	err := unix.Statfs(dir, &fs)
	for ; err == unix.ENOENT && dir != ""; err = unix.Statfs(dir, &fs) {
		dir = filepath.Dir(dir)
	}
	if err != nil || fs.Type != unix.OVERLAYFS_SUPER_MAGIC {
		return nil
	}
	return fmt.Errorf("%s is on an overlay file system, and containers cannot have theirs there (choose another disk with --root-dir)", dir)
}
