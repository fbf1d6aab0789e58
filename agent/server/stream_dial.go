package server

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"os"
	"sync"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// streamStartTimeout bounds the start of a stream: the calls of the runtime and the upgrade of the connection to its
// streaming server. It is the kubelet's timeout of runtime requests.
const streamStartTimeout = 2 * time.Minute

// startTransport returns a transport for the connection to the runtime's streaming server. The connection fails if the
// server has not begun its response by deadline. Later, the connection has no deadline.
func startTransport(deadline time.Time) *http.Transport {
	return &http.Transport{
		TLSClientConfig: &tls.Config{MinVersion: tls.VersionTLS12},
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			conn, err := (&net.Dialer{Deadline: deadline}).DialContext(ctx, network, address)
			if err != nil {
				return nil, err
			}
			if err := conn.SetDeadline(deadline); err != nil {
				return nil, errors.Join(err, conn.Close())
			}
			return &startConn{Conn: conn}, nil
		},
	}
}

// startConn removes the deadline of a connection when the first data arrives.
type startConn struct {
	net.Conn
	answered sync.Once
}

// Read implements net.Conn.
func (c *startConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if n > 0 {
		c.answered.Do(func() { _ = c.Conn.SetDeadline(time.Time{}) })
	}
	return n, err
}

// startError explains the error of a start that has reached its deadline, which is limit after the request.
func startError(err error, limit time.Duration) error {
	if errors.Is(err, os.ErrDeadlineExceeded) || errors.Is(err, context.DeadlineExceeded) || status.Code(err) == codes.DeadlineExceeded {
		return newStatusError(http.StatusGatewayTimeout, "starting the stream: the container runtime did not answer within %v: %v", limit, err)
	}
	return err
}
