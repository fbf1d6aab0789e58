package probe

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// outcome is the outcome of a probe.
type outcome uint8

const (
	success outcome = iota
	failure
	unknown // the probe could not be run
)

// result is the result of a probe; a success may carry a warning.
type result struct {
	outcome outcome
	message string
}

// maxOutput is the maximum length in bytes to which a response is truncated, as in the kubelet.
const maxOutput = 10 << 10

func (p *Prober) runProbe(ctx context.Context, t *Target, spec *corev1.Probe) result {
	timeout := secondsOr(spec.TimeoutSeconds, 1)
	switch h := spec.ProbeHandler; {
	case h.Exec != nil:
		return p.probeExec(ctx, t.ID, h.Exec.Command, timeout)
	case h.HTTPGet != nil:
		return probeHTTP(ctx, h.HTTPGet, t.Container, t.Address)
	case h.TCPSocket != nil:
		host := h.TCPSocket.Host
		if host == "" {
			host = t.Address
		}
		port, err := Port(h.TCPSocket.Port, t.Container)
		if err != nil {
			return result{unknown, err.Error()}
		}
		return probeTCP(ctx, host, port)
	case h.GRPC != nil:
		service := ""
		if h.GRPC.Service != nil {
			service = *h.GRPC.Service
		}
		return probeGRPC(ctx, t.Address, int(h.GRPC.Port), service, timeout)
	}
	return result{unknown, "missing probe handler: must have exec, httpGet, tcpSocket or grpc"}
}

// probeExec runs a command; exit code 0 is success.
func (p *Prober) probeExec(ctx context.Context, id string, command []string, timeout time.Duration) result {
	code, output, err := p.opts.Exec(ctx, id, command, timeout)
	output = truncate(output)
	switch {
	case errors.Is(err, context.DeadlineExceeded), status.Code(err) == codes.DeadlineExceeded:
		return result{failure, fmt.Sprintf("command timed out: %q timed out after %s", strings.Join(command, " "), timeout)}
	case err != nil:
		return result{unknown, err.Error()}
	case code != 0:
		return result{failure, output}
	}
	return result{success, ""}
}

// Port resolves a port number or name.
func Port(port intstr.IntOrString, container *corev1.Container) (int, error) {
	n := port.IntValue()
	if port.Type == intstr.String {
		for _, p := range container.Ports {
			if p.Name == port.StrVal {
				n = int(p.ContainerPort)
			}
		}
		if n == 0 {
			return 0, fmt.Errorf("couldn't find port: %q is not a port of container %q", port.StrVal, container.Name)
		}
	}
	if n <= 0 || n >= 65536 {
		return 0, fmt.Errorf("invalid port number: %v; must be from 1 to 65535", port.String())
	}
	return n, nil
}

func truncate(s string) string {
	if len(s) > maxOutput {
		return s[:maxOutput]
	}
	return s
}
