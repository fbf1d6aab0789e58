package cri

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/berthproject/berth/agent/runtime"
)

const (
	// requestTimeout bounds a call: the kubelet's default of --runtime-request-timeout.
	requestTimeout = 2 * time.Minute
	// sandboxTimeout bounds a call that sets up or tears down the network of a sandbox.
	sandboxTimeout = 4 * time.Minute
	maxMessage     = 64 << 20 // bytes
	// socketPollInterval is how often Dial checks for the socket file.
	socketPollInterval = 5 * time.Millisecond
	// retryDelay is the delay between attempts while the runtime is unavailable.
	retryDelay = 50 * time.Millisecond
)

// Client is a connection to a runtime. It reconnects when the runtime restarts.
type Client struct {
	conn    grpc.ClientConnInterface
	runtime cri.RuntimeServiceClient
	images  cri.ImageServiceClient
	closed  context.Context // ends with Close
	close   context.CancelFunc

	mu   sync.Mutex
	name string // of the runtime, after the first call
}

var _ runtime.Service = (*Client)(nil)

// Dial connects to the runtime at endpoint, a unix socket such as
// unix:///run/containerd/containerd.sock or its path. It blocks until the socket file exists or
// ctx ends. It does not wait until the runtime is ready.
func Dial(ctx context.Context, endpoint string) (*Client, error) {
	socket, err := socketPath(endpoint)
	if err != nil {
		return nil, err
	}
	if err := waitForFile(ctx, socket); err != nil {
		return nil, fmt.Errorf("runtime endpoint %q: waiting for the socket: %w", endpoint, err)
	}
	conn, err := grpc.NewClient("unix://"+socket,
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithConnectParams(grpc.ConnectParams{
			// A restarting runtime is available again within a second.
			Backoff:           backoff.Config{BaseDelay: 20 * time.Millisecond, Multiplier: 1.6, Jitter: 0.2, MaxDelay: time.Second},
			MinConnectTimeout: 3 * time.Second,
		}),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxMessage), grpc.MaxCallSendMsgSize(maxMessage)))
	if err != nil {
		return nil, fmt.Errorf("runtime endpoint %q: %w", endpoint, err)
	}
	return Connect(conn), nil
}

// Connect returns a client of the runtime that conn is connected to. The client closes conn if it has
// a method Close.
func Connect(conn grpc.ClientConnInterface) *Client {
	c := &Client{conn: conn, runtime: cri.NewRuntimeServiceClient(conn), images: cri.NewImageServiceClient(conn)}
	c.closed, c.close = context.WithCancel(context.Background())
	return c
}

func socketPath(endpoint string) (string, error) {
	path := strings.TrimPrefix(endpoint, "unix://")
	if !strings.HasPrefix(path, "/") {
		return "", fmt.Errorf("runtime endpoint %q: must be the absolute path of a unix socket, such as unix:///run/containerd/containerd.sock", endpoint)
	}
	return path, nil
}

func waitForFile(ctx context.Context, path string) error {
	for {
		_, err := os.Stat(path)
		if err == nil || !os.IsNotExist(err) {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(socketPollInterval):
		}
	}
}

// Close closes the connection. Calls in progress fail.
func (c *Client) Close() error {
	c.close()
	if closer, ok := c.conn.(io.Closer); ok {
		return closer.Close()
	}
	return nil
}

// Version returns the runtime's name and version.
func (c *Client) Version(ctx context.Context) (*cri.VersionResponse, error) {
	return callWithRetry(ctx, c, func(ctx context.Context) (*cri.VersionResponse, error) {
		return c.runtime.Version(ctx, &cri.VersionRequest{Version: "v1"})
	})
}

// Status returns the conditions of the runtime and its network, its features and those of its handlers.
func (c *Client) Status(ctx context.Context) (*cri.StatusResponse, error) {
	return callWithRetry(ctx, c, func(ctx context.Context) (*cri.StatusResponse, error) {
		return c.runtime.Status(ctx, &cri.StatusRequest{})
	})
}

// callWithRetry makes a read-only call and retries while the runtime is unavailable.
func callWithRetry[T any](ctx context.Context, c *Client, call func(context.Context) (T, error)) (T, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	return retry(ctx, c, call, func(err error) bool { return status.Code(err) == codes.Unavailable || notDelivered(err) })
}

// callOnce makes a call that changes state. It retries only if the runtime did not receive the
// call.
func callOnce[T any](ctx context.Context, c *Client, limit time.Duration, call func(context.Context) (T, error)) (T, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	return retry(ctx, c, call, notDelivered)
}

// retry repeats a call while transient reports true for its error, until ctx ends.
func retry[T any](ctx context.Context, c *Client, call func(context.Context) (T, error), transient func(error) bool) (T, error) {
	for {
		r, err := call(ctx)
		if err == nil || !transient(err) {
			return r, err
		}
		select {
		case <-ctx.Done():
			return r, err
		case <-c.closed.Done():
			return r, err
		case <-time.After(retryDelay):
		}
	}
}

// notDelivered reports whether the call had no effect: there was no connection, or containerd was
// still initializing.
func notDelivered(err error) bool {
	return strings.Contains(err.Error(), "server is not initialized yet") ||
		// "Error while dialing" or "error while dialing".
		status.Code(err) == codes.Unavailable && strings.Contains(err.Error(), "rror while dialing")
}

// SandboxImage returns the image of the runtime's sandboxes, or "" if unknown. Garbage collection
// must keep it, and containerd before 2.0 does not report it as pinned.
func (c *Client) SandboxImage(ctx context.Context) (string, error) {
	r, err := callWithRetry(ctx, c, func(ctx context.Context) (*cri.StatusResponse, error) {
		return c.runtime.Status(ctx, &cri.StatusRequest{Verbose: true})
	})
	if err != nil {
		return "", err
	}
	var config struct {
		SandboxImage string `json:"sandboxImage"`
	}
	if info := r.Info["config"]; info != "" {
		if err := json.Unmarshal([]byte(info), &config); err != nil {
			return "", fmt.Errorf("parsing the runtime's configuration: %w", err)
		}
	}
	return config.SandboxImage, nil
}
