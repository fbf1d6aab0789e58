package localnodes

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

	"github.com/berthproject/berth/agent/nodeagent"
	"github.com/berthproject/berth/agent/runtime/cri"
	"github.com/berthproject/berth/agent/runtime/embedded"
)

// What --runtime says.
const (
	RuntimeAuto     = "auto"
	runtimeCRI      = "cri"
	runtimeEmbedded = "embedded"
)

func AddRuntimeFlag(flags *pflag.FlagSet, into *string) {
	flags.StringVar(into, "runtime", RuntimeAuto, "what runs pods: cri (containerd, or what speaks CRI v1), embedded (Berth's own: nothing is installed; containment, not a security boundary), or auto: cri where it is there, else embedded")
}

// criTimeout is how long a container runtime has to say whether it can run pods.
const criTimeout = 2 * time.Second

// transientError is a fault of a container runtime that may pass by itself: who has asked for that runtime waits.
type transientError struct{ error }

// PermanentError is a fault that stays, if it is one.
func PermanentError(err error) error {
	if errors.As(err, &transientError{}) {
		return nil
	}
	return err
}

// CheckCRI says why no pods can be run by what listens at a socket, as far as it is known within criWithin; nothing of it
// where the embedded runtime is asked for.
func CheckCRI(asked, endpoint string) error {
	if asked == runtimeEmbedded {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), criTimeout)
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
		return transientError{fmt.Errorf("the container runtime at %s does not answer: %s", endpoint, status.Convert(err).Message())}
	}
	if err := nodeagent.RuntimeNotReady(s); err != nil {
		return transientError{fmt.Errorf("%s: %w", endpoint, err)}
	}
	return nil
}

// UseEmbedded decides whether pods run in the embedded runtime, with its things in dir ("": on a disk that is made for
// them). cri is what keeps a runtime that speaks CRI from being used; named says that the user has named one. An error
// says what each way lacks.
func UseEmbedded(asked string, named bool, cri error, dir string) (bool, error) {
	if named && asked == RuntimeAuto {
		asked = runtimeCRI
	}
	switch asked {
	case runtimeCRI:
		return false, PermanentError(cri)
	case runtimeEmbedded:
		if named {
			return false, errors.New("--runtime embedded: it is no container runtime at a socket; leave out --runtime-endpoint")
		}
		return true, checkEmbedded(dir)
	case RuntimeAuto:
		lacks := checkEmbedded(dir)
		switch { // pods that run go before what is there now: another runtime would run them besides
		case dir != "" && nodeagent.UsedEmbedded(dir) && lacks == nil:
			return true, nil
		case cri == nil || dir != "" && nodeagent.UsedCRI(dir) && PermanentError(cri) == nil:
			return false, nil
		case lacks != nil:
			return false, errors.Join(lacks, cri)
		}
		return true, nil
	}
	return false, fmt.Errorf("--runtime %q: must be auto, cri or embedded", asked)
}

// EmbeddedReason says why pods run in the embedded runtime though something listens at the socket of another one.
func EmbeddedReason(cri error) string {
	if cri == nil {
		return "pods of this node run there already"
	}
	return cri.Error()
}

func checkEmbedded(dir string) error {
	err := errors.Join(embedded.CheckRequirements(), rejectOverlayFS(dir))
	if err == nil {
		return nil
	}
	return fmt.Errorf("the embedded runtime cannot run pods here: %w", err)
}

// rejectOverlayFS refuses a directory on an overlay file system, as a container's own is: the kernel lays no other one over it.
func rejectOverlayFS(dir string) error {
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

// DefaultLowDisk is the disk reserve in MiB.
const DefaultLowDisk = 256
