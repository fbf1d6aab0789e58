package cri

import (
	"context"
	"time"

	cri "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// CreateContainer makes a container in a sandbox.
func (c *Client) CreateContainer(ctx context.Context, sandbox string, config *cri.ContainerConfig, of *cri.PodSandboxConfig) (string, error) {
	r, err := callOnce(ctx, c, requestTimeout, func(ctx context.Context) (*cri.CreateContainerResponse, error) {
		return c.runtime.CreateContainer(ctx, &cri.CreateContainerRequest{PodSandboxId: sandbox, Config: config, SandboxConfig: of})
	})
	return r.GetContainerId(), err
}

// StartContainer starts a container that was made.
func (c *Client) StartContainer(ctx context.Context, id string) error {
	_, err := callOnce(ctx, c, requestTimeout, func(ctx context.Context) (*cri.StartContainerResponse, error) {
		return c.runtime.StartContainer(ctx, &cri.StartContainerRequest{ContainerId: id})
	})
	return err
}

// StopContainer asks the container to end and kills it after grace, which is
// rounded up to whole seconds as CRI has them; 0 kills at once. One that has
// ended is no error.
func (c *Client) StopContainer(ctx context.Context, id string, grace time.Duration) error {
	seconds := int64((max(grace, 0) + time.Second - 1) / time.Second)
	_, err := callOnce(ctx, c, requestTimeout+time.Duration(seconds)*time.Second, func(ctx context.Context) (*cri.StopContainerResponse, error) {
		return c.runtime.StopContainer(ctx, &cri.StopContainerRequest{ContainerId: id, Timeout: seconds})
	})
	return err
}

// RemoveContainer removes a container, killing it if it runs. One that is gone is no error.
func (c *Client) RemoveContainer(ctx context.Context, id string) error {
	_, err := callOnce(ctx, c, requestTimeout, func(ctx context.Context) (*cri.RemoveContainerResponse, error) {
		return c.runtime.RemoveContainer(ctx, &cri.RemoveContainerRequest{ContainerId: id})
	})
	return err
}

// ContainerStatus says how a container is.
func (c *Client) ContainerStatus(ctx context.Context, id string) (*cri.ContainerStatus, error) {
	r, err := callWithRetry(ctx, c, func(ctx context.Context) (*cri.ContainerStatusResponse, error) {
		return c.runtime.ContainerStatus(ctx, &cri.ContainerStatusRequest{ContainerId: id})
	})
	return r.GetStatus(), err
}

// ListContainers lists the containers that filter selects; nil selects all.
func (c *Client) ListContainers(ctx context.Context, filter *cri.ContainerFilter) ([]*cri.Container, error) {
	r, err := callWithRetry(ctx, c, func(ctx context.Context) (*cri.ListContainersResponse, error) {
		return c.runtime.ListContainers(ctx, &cri.ListContainersRequest{Filter: filter})
	})
	return r.GetContainers(), err
}

// ListContainerStats lists figures of the running containers that filter selects; nil selects all.
func (c *Client) ListContainerStats(ctx context.Context, filter *cri.ContainerStatsFilter) ([]*cri.ContainerStats, error) {
	r, err := callWithRetry(ctx, c, func(ctx context.Context) (*cri.ListContainerStatsResponse, error) {
		return c.runtime.ListContainerStats(ctx, &cri.ListContainerStatsRequest{Filter: filter})
	})
	return r.GetStats(), err
}

// ExecSync runs a command in the container; after timeout (rounded up to whole
// seconds; 0 means none) it is killed and the error has code DeadlineExceeded.
func (c *Client) ExecSync(ctx context.Context, id string, command []string, timeout time.Duration) (*cri.ExecSyncResponse, error) {
	seconds := int64((max(timeout, 0) + time.Second - 1) / time.Second)
	call := func(ctx context.Context) (*cri.ExecSyncResponse, error) {
		return c.runtime.ExecSync(ctx, &cri.ExecSyncRequest{ContainerId: id, Cmd: command, Timeout: seconds})
	}
	if seconds == 0 {
		return call(ctx)
	}
	// The runtime has the first word about its own limit.
	return callOnce(ctx, c, requestTimeout+time.Duration(seconds)*time.Second, call)
}

// Exec is the URL of a stream that runs a command in the container.
func (c *Client) Exec(ctx context.Context, request *cri.ExecRequest) (string, error) {
	r, err := callWithRetry(ctx, c, func(ctx context.Context) (*cri.ExecResponse, error) { return c.runtime.Exec(ctx, request) })
	return r.GetUrl(), err
}

// Attach is the URL of a stream to the container's own process.
func (c *Client) Attach(ctx context.Context, request *cri.AttachRequest) (string, error) {
	r, err := callWithRetry(ctx, c, func(ctx context.Context) (*cri.AttachResponse, error) { return c.runtime.Attach(ctx, request) })
	return r.GetUrl(), err
}

// ReopenContainerLog makes the container write to a new file under its log path.
func (c *Client) ReopenContainerLog(ctx context.Context, id string) error {
	_, err := callOnce(ctx, c, requestTimeout, func(ctx context.Context) (*cri.ReopenContainerLogResponse, error) {
		return c.runtime.ReopenContainerLog(ctx, &cri.ReopenContainerLogRequest{ContainerId: id})
	})
	return err
}
