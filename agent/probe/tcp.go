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

// dial asks whether a port accepts connections.
func dial(ctx context.Context, host string, port int) answer {
	var d net.Dialer
	conn, err := d.DialContext(ctx, "tcp", net.JoinHostPort(host, strconv.Itoa(port)))
	if err != nil {
		return answer{bad, err.Error()}
	}
	_ = conn.Close() // it was opened, which is all that was asked
	return answer{good, ""}
}

// healthOf asks by the gRPC health protocol.
func healthOf(ctx context.Context, host string, port int, service string, timeout time.Duration) answer {
	address := net.JoinHostPort(host, strconv.Itoa(port))
	conn, err := grpc.NewClient("passthrough:///"+address, grpc.WithUserAgent(userAgent), grpc.WithNoProxy(),
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, address string) (net.Conn, error) {
			var d net.Dialer
			return d.DialContext(ctx, "tcp", address)
		}))
	if err != nil {
		return answer{unknown, err.Error()}
	}
	defer conn.Close()
	got, err := healthpb.NewHealthClient(conn).Check(ctx, &healthpb.HealthCheckRequest{Service: service})
	switch code := status.Code(err); {
	case err == nil && got.GetStatus() == healthpb.HealthCheckResponse_SERVING:
		return answer{good, ""}
	case err == nil:
		return answer{bad, fmt.Sprintf("service unhealthy (responded with %q)", got.GetStatus().String())}
	case code == codes.Unimplemented:
		return answer{bad, "error: this server does not implement the grpc health protocol (grpc.health.v1.Health): " + status.Convert(err).Message()}
	case code == codes.Unavailable:
		return answer{bad, fmt.Sprintf("timeout: failed to connect service %q within %v: %v", address, timeout, status.Convert(err).Message())}
	case code == codes.DeadlineExceeded, errors.Is(err, context.DeadlineExceeded):
		return answer{bad, fmt.Sprintf("timeout: health rpc did not complete within %v", timeout)}
	}
	return answer{bad, "error: health rpc failed: " + err.Error()}
}
