package localnodes

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/pflag"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	criapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/berthproject/berth/agent/nodeagent"
	"github.com/berthproject/berth/agent/runtime/cri"
)

// Values of --runtime.
const (
	RuntimeAuto     = "auto"
	runtimeCRI      = "cri"
	runtimeEmbedded = "embedded"
)

// AddRuntimeFlag defines the flag --runtime.
func AddRuntimeFlag(flags *pflag.FlagSet, into *string) {
	flags.StringVar(into, "runtime", RuntimeAuto, "container runtime: cri (containerd or another CRI v1 runtime), embedded (needs no installed software; containment, not a security boundary), or auto: cri if available, else embedded")
}

// criTimeout bounds the check of a container runtime.
const criTimeout = 2 * time.Second

// transientError is a runtime error that may pass without user action.
type transientError struct{ error }

// PermanentError returns err, or nil if err is transient.
func PermanentError(err error) error {
	if errors.As(err, &transientError{}) {
		return nil
	}
	return err
}

// CheckCRI returns an error if the runtime at endpoint cannot run pods. It returns nil if
// the embedded runtime is requested.
func CheckCRI(requested, endpoint string) error {
	if requested == runtimeEmbedded {
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
		return fmt.Errorf("the runtime at %s does not serve CRI v1 (for Docker's containerd, empty disabled_plugins in /etc/containerd/config.toml)", endpoint)
	}
	var s *criapi.StatusResponse
	if err == nil {
		s, err = c.Status(ctx)
	}
	if err != nil {
		return transientError{fmt.Errorf("the container runtime at %s does not respond: %s", endpoint, status.Convert(err).Message())}
	}
	if err := nodeagent.RuntimeNotReady(s.GetStatus()); err != nil {
		return transientError{fmt.Errorf("%s: %w", endpoint, err)}
	}
	return nil
}

// UseEmbedded reports whether pods run in the embedded runtime. The argument dir is the directory of
// the node's agent, "" for a disk that is created later. The argument criErr is the error of CheckCRI, and endpointSet
// reports whether the user set an endpoint. The error describes what each runtime lacks.
func UseEmbedded(requested string, endpointSet bool, criErr error, dir string) (bool, error) {
	if endpointSet && requested == RuntimeAuto {
		requested = runtimeCRI
	}
	switch requested {
	case runtimeCRI:
		return false, PermanentError(criErr)
	case runtimeEmbedded:
		if endpointSet {
			return false, errors.New("--runtime-endpoint: must not be set with --runtime embedded, which has no socket")
		}
		return true, checkEmbedded(dir)
	case RuntimeAuto:
		embeddedErr := checkEmbedded(dir)
		switch { // a runtime that already runs pods of this node takes precedence
		case dir != "" && nodeagent.UsedEmbedded(dir) && embeddedErr == nil:
			return true, nil
		case criErr == nil || dir != "" && nodeagent.UsedCRI(dir) && PermanentError(criErr) == nil:
			return false, nil
		case embeddedErr != nil:
			return false, errors.Join(embeddedErr, criErr)
		}
		return true, nil
	}
	return false, fmt.Errorf("--runtime %q: must be auto, cri or embedded", requested)
}

// EmbeddedReason returns the reason for which the embedded runtime is used although a socket of
// another runtime exists. criErr is the error of CheckCRI.
func EmbeddedReason(criErr error) string {
	if criErr == nil {
		return "pods of this node already run in it"
	}
	return criErr.Error()
}

func checkEmbedded(dir string) error {
	err := checkMachine(dir)
	if err == nil {
		return nil
	}
	return fmt.Errorf("the embedded runtime cannot run pods here: %w", err)
}
