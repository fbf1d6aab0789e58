package cri

import (
	"context"
	"time"

	cri "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// CreateContainer creates a container in a sandbox.
func (c *Client) CreateContainer(ctx context.Context, sandbox string, config *cri.ContainerConfig, sandboxConfig *cri.PodSandboxConfig) (string, error) {
	r, err := callOnce(ctx, c, requestTimeout, func(ctx context.Context) (*cri.CreateContainerResponse, error) {
		return c.runtime.CreateContainer(ctx, &cri.CreateContainerRequest{PodSandboxId: sandbox, Config: config, SandboxConfig: sandboxConfig})
	})
	return r.GetContainerId(), err
}

// StartContainer starts a created container.
func (c *Client) StartContainer(ctx context.Context, id string) error {
	_, err := callOnce(ctx, c, requestTimeout, func(ctx context.Context) (*cri.StartContainerResponse, error) {
		return c.runtime.StartContainer(ctx, &cri.StartContainerRequest{ContainerId: id})
	})
	return err
}

// StopContainer stops the container and kills it after grace, rounded up to seconds; 0 kills it
// immediately. It succeeds if the container has exited.
func (c *Client) StopContainer(ctx context.Context, id string, grace time.Duration) error {
	seconds := int64((max(grace, 0) + time.Second - 1) / time.Second)
	_, err := callOnce(ctx, c, requestTimeout+time.Duration(seconds)*time.Second, func(ctx context.Context) (*cri.StopContainerResponse, error) {
		return c.runtime.StopContainer(ctx, &cri.StopContainerRequest{ContainerId: id, Timeout: seconds})
	})
	return err
}

// RemoveContainer kills and removes a container. It succeeds if the container does not exist.
func (c *Client) RemoveContainer(ctx context.Context, id string) error {
	_, err := callOnce(ctx, c, requestTimeout, func(ctx context.Context) (*cri.RemoveContainerResponse, error) {
		return c.runtime.RemoveContainer(ctx, &cri.RemoveContainerRequest{ContainerId: id})
	})
	return err
}

// UpdateContainerResources changes the limits of a container that has not exited.
func (c *Client) UpdateContainerResources(ctx context.Context, id string, resources *cri.LinuxContainerResources) error {
	_, err := callOnce(ctx, c, requestTimeout, func(ctx context.Context) (*cri.UpdateContainerResourcesResponse, error) {
		return c.runtime.UpdateContainerResources(ctx, &cri.UpdateContainerResourcesRequest{ContainerId: id, Linux: resources})
	})
	return err
}

// ContainerStatus returns the status of a container.
func (c *Client) ContainerStatus(ctx context.Context, id string) (*cri.ContainerStatus, error) {
	r, err := callWithRetry(ctx, c, func(ctx context.Context) (*cri.ContainerStatusResponse, error) {
		return c.runtime.ContainerStatus(ctx, &cri.ContainerStatusRequest{ContainerId: id})
	})
	return r.GetStatus(), err
}

// ListContainers lists the containers that match filter; nil matches all.
func (c *Client) ListContainers(ctx context.Context, filter *cri.ContainerFilter) ([]*cri.Container, error) {
	r, err := callWithRetry(ctx, c, func(ctx context.Context) (*cri.ListContainersResponse, error) {
		return c.runtime.ListContainers(ctx, &cri.ListContainersRequest{Filter: filter})
	})
	return r.GetContainers(), err
}

// ListContainerStats lists statistics of running containers that match filter; nil matches all.
func (c *Client) ListContainerStats(ctx context.Context, filter *cri.ContainerStatsFilter) ([]*cri.ContainerStats, error) {
	r, err := callWithRetry(ctx, c, func(ctx context.Context) (*cri.ListContainerStatsResponse, error) {
		return c.runtime.ListContainerStats(ctx, &cri.ListContainerStatsRequest{Filter: filter})
	})
	return r.GetStats(), err
}

// ExecSync runs a command in the container. After timeout, rounded up to seconds, the command is
// killed and the error has code DeadlineExceeded; 0 means no timeout.
func (c *Client) ExecSync(ctx context.Context, id string, command []string, timeout time.Duration) (*cri.ExecSyncResponse, error) {
	seconds := int64((max(timeout, 0) + time.Second - 1) / time.Second)
	call := func(ctx context.Context) (*cri.ExecSyncResponse, error) {
		return c.runtime.ExecSync(ctx, &cri.ExecSyncRequest{ContainerId: id, Cmd: command, Timeout: seconds})
	}
	if seconds == 0 {
		return call(ctx)
	}
	// The runtime should report its own timeout first.
	return callOnce(ctx, c, requestTimeout+time.Duration(seconds)*time.Second, call)
}

// Exec returns the URL of a stream that runs a command in the container.
func (c *Client) Exec(ctx context.Context, request *cri.ExecRequest) (string, error) {
	r, err := callWithRetry(ctx, c, func(ctx context.Context) (*cri.ExecResponse, error) { return c.runtime.Exec(ctx, request) })
	return r.GetUrl(), err
}

// Attach returns the URL of a stream to the container's main process.
func (c *Client) Attach(ctx context.Context, request *cri.AttachRequest) (string, error) {
	r, err := callWithRetry(ctx, c, func(ctx context.Context) (*cri.AttachResponse, error) { return c.runtime.Attach(ctx, request) })
	return r.GetUrl(), err
}

// ReopenContainerLog reopens the container's log file at its path.
func (c *Client) ReopenContainerLog(ctx context.Context, id string) error {
	_, err := callOnce(ctx, c, requestTimeout, func(ctx context.Context) (*cri.ReopenContainerLogResponse, error) {
		return c.runtime.ReopenContainerLog(ctx, &cri.ReopenContainerLogRequest{ContainerId: id})
	})
	return err
}
