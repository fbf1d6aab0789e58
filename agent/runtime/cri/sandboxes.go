package cri

import (
	"context"

	cri "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// RunPodSandbox creates and starts a sandbox; handler "" is the runtime's default.
func (c *Client) RunPodSandbox(ctx context.Context, config *cri.PodSandboxConfig, handler string) (string, error) {
	r, err := callOnce(ctx, c, sandboxTimeout, func(ctx context.Context) (*cri.RunPodSandboxResponse, error) {
		return c.runtime.RunPodSandbox(ctx, &cri.RunPodSandboxRequest{Config: config, RuntimeHandler: handler})
	})
	return r.GetPodSandboxId(), err
}

// StopPodSandbox stops all containers of the sandbox and releases its address.
func (c *Client) StopPodSandbox(ctx context.Context, id string) error {
	_, err := callOnce(ctx, c, sandboxTimeout, func(ctx context.Context) (*cri.StopPodSandboxResponse, error) {
		return c.runtime.StopPodSandbox(ctx, &cri.StopPodSandboxRequest{PodSandboxId: id})
	})
	return err
}

// RemovePodSandbox removes the sandbox and its containers. It succeeds if the sandbox does not
// exist.
func (c *Client) RemovePodSandbox(ctx context.Context, id string) error {
	_, err := callOnce(ctx, c, requestTimeout, func(ctx context.Context) (*cri.RemovePodSandboxResponse, error) {
		return c.runtime.RemovePodSandbox(ctx, &cri.RemovePodSandboxRequest{PodSandboxId: id})
	})
	return err
}

// PodSandboxStatus returns the status of a sandbox with its addresses.
func (c *Client) PodSandboxStatus(ctx context.Context, id string) (*cri.PodSandboxStatus, error) {
	r, err := callWithRetry(ctx, c, func(ctx context.Context) (*cri.PodSandboxStatusResponse, error) {
		return c.runtime.PodSandboxStatus(ctx, &cri.PodSandboxStatusRequest{PodSandboxId: id})
	})
	return r.GetStatus(), err
}

// ListPodSandbox lists the sandboxes that match filter; nil matches all.
func (c *Client) ListPodSandbox(ctx context.Context, filter *cri.PodSandboxFilter) ([]*cri.PodSandbox, error) {
	r, err := callWithRetry(ctx, c, func(ctx context.Context) (*cri.ListPodSandboxResponse, error) {
		return c.runtime.ListPodSandbox(ctx, &cri.ListPodSandboxRequest{Filter: filter})
	})
	return r.GetItems(), err
}

// PortForward returns the URL of a stream to ports of the sandbox.
func (c *Client) PortForward(ctx context.Context, request *cri.PortForwardRequest) (string, error) {
	r, err := callWithRetry(ctx, c, func(ctx context.Context) (*cri.PortForwardResponse, error) {
		return c.runtime.PortForward(ctx, request)
	})
	return r.GetUrl(), err
}
