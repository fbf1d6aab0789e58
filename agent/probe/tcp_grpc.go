package probe

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"
)

// probeTCP reports whether a port accepts connections.
func probeTCP(ctx context.Context, host string, port int) result {
	var d net.Dialer
	conn, err := d.DialContext(ctx, "tcp", net.JoinHostPort(host, strconv.Itoa(port)))
	if err != nil {
		return result{failure, err.Error()}
	}
	_ = conn.Close() // an accepted connection is sufficient
	return result{success, ""}
}

// probeGRPC uses the gRPC health checking protocol.
func probeGRPC(ctx context.Context, host string, port int, service string, timeout time.Duration) result {
	address := net.JoinHostPort(host, strconv.Itoa(port))
	conn, err := grpc.NewClient("passthrough:///"+address, grpc.WithUserAgent(userAgent), grpc.WithNoProxy(),
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, address string) (net.Conn, error) {
			var d net.Dialer
			return d.DialContext(ctx, "tcp", address)
		}))
	if err != nil {
		return result{unknown, err.Error()}
	}
	defer conn.Close()
	got, err := healthpb.NewHealthClient(conn).Check(ctx, &healthpb.HealthCheckRequest{Service: service})
	switch code := status.Code(err); {
	case err == nil && got.GetStatus() == healthpb.HealthCheckResponse_SERVING:
		return result{success, ""}
	case err == nil:
		return result{failure, fmt.Sprintf("service unhealthy (responded with %q)", got.GetStatus().String())}
	case code == codes.Unimplemented:
		return result{failure, "error: this server does not implement the grpc health protocol (grpc.health.v1.Health): " + status.Convert(err).Message()}
	case code == codes.Unavailable:
		return result{failure, fmt.Sprintf("timeout: failed to connect service %q within %v: %v", address, timeout, status.Convert(err).Message())}
	case code == codes.DeadlineExceeded, errors.Is(err, context.DeadlineExceeded):
		return result{failure, fmt.Sprintf("timeout: health rpc did not complete within %v", timeout)}
	}
	return result{failure, "error: health rpc failed: " + err.Error()}
}
