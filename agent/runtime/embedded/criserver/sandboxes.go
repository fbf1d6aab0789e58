package criserver

import (
	"context"
	"strings"
	"time"

	cri "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// runtimeServer implements CRI's RuntimeService. Calls without a method here fail with code
// Unimplemented: checkpoints, and lists as streams, for which the kubelet has a fallback.
type runtimeServer struct {
	cri.UnimplementedRuntimeServiceServer
	*Server
}

// RunPodSandbox implements cri.RuntimeServiceServer.
func (s *runtimeServer) RunPodSandbox(ctx context.Context, q *cri.RunPodSandboxRequest) (*cri.RunPodSandboxResponse, error) {
	if q.GetConfig().GetMetadata() == nil {
		return nil, missing("RunPodSandbox", "config.metadata")
	}
	id, err := s.runtime.RunPodSandbox(ctx, q.GetConfig(), q.GetRuntimeHandler())
	if err != nil {
		return nil, err
	}
	s.publishSandbox(ctx, id, cri.ContainerEventType_CONTAINER_CREATED_EVENT)
	s.publishSandbox(ctx, id, cri.ContainerEventType_CONTAINER_STARTED_EVENT)
	return &cri.RunPodSandboxResponse{PodSandboxId: id}, nil
}

// StopPodSandbox implements cri.RuntimeServiceServer.
func (s *runtimeServer) StopPodSandbox(ctx context.Context, q *cri.StopPodSandboxRequest) (*cri.StopPodSandboxResponse, error) {
	id, err := s.sandboxID(ctx, q.GetPodSandboxId())
	if err != nil {
		return nil, err
	}
	before, _ := s.runtime.PodSandboxStatus(ctx, id)
	if err := s.runtime.StopPodSandbox(ctx, id); err != nil {
		return nil, err
	}
	if before != nil && before.GetState() == cri.PodSandboxState_SANDBOX_READY {
		s.publishSandbox(ctx, id, cri.ContainerEventType_CONTAINER_STOPPED_EVENT)
	}
	return &cri.StopPodSandboxResponse{}, nil
}

// RemovePodSandbox implements cri.RuntimeServiceServer.
func (s *runtimeServer) RemovePodSandbox(ctx context.Context, q *cri.RemovePodSandboxRequest) (*cri.RemovePodSandboxResponse, error) {
	id, err := s.sandboxID(ctx, q.GetPodSandboxId())
	if err != nil {
		return nil, err
	}
	last, _ := s.runtime.PodSandboxStatus(ctx, id)
	if err := s.runtime.RemovePodSandbox(ctx, id); err != nil {
		return nil, err
	}
	if last != nil {
		s.publishRemoved(id, last)
	}
	return &cri.RemovePodSandboxResponse{}, nil
}

// PodSandboxStatus implements cri.RuntimeServiceServer.
func (s *runtimeServer) PodSandboxStatus(ctx context.Context, q *cri.PodSandboxStatusRequest) (*cri.PodSandboxStatusResponse, error) {
	id, err := s.sandboxID(ctx, q.GetPodSandboxId())
	if err != nil {
		return nil, err
	}
	now := time.Now().UnixNano()
	status, err := s.runtime.PodSandboxStatus(ctx, id)
	if err != nil {
		return nil, err
	}
	containers, err := s.containerStatuses(ctx, id)
	if err != nil {
		return nil, err
	}
	return &cri.PodSandboxStatusResponse{Status: status, ContainersStatuses: containers, Timestamp: now}, nil
}

// ListPodSandbox implements cri.RuntimeServiceServer.
func (s *runtimeServer) ListPodSandbox(ctx context.Context, q *cri.ListPodSandboxRequest) (*cri.ListPodSandboxResponse, error) {
	f := q.GetFilter()
	id, err := s.sandboxID(ctx, f.GetId())
	if err != nil {
		return nil, err
	}
	items, err := s.runtime.ListPodSandbox(ctx, &cri.PodSandboxFilter{Id: id, State: f.GetState(), LabelSelector: f.GetLabelSelector()})
	return &cri.ListPodSandboxResponse{Items: items}, err
}

// PortForward implements cri.RuntimeServiceServer.
func (s *runtimeServer) PortForward(ctx context.Context, q *cri.PortForwardRequest) (*cri.PortForwardResponse, error) {
	id, err := s.sandboxID(ctx, q.GetPodSandboxId())
	if err != nil {
		return nil, err
	}
	url, err := s.runtime.PortForward(ctx, &cri.PortForwardRequest{PodSandboxId: id, Port: q.GetPort()})
	return &cri.PortForwardResponse{Url: url}, err
}

// UpdatePodSandboxResources implements cri.RuntimeServiceServer. The caller manages the pod's
// cgroup, so there is nothing to update.
func (s *runtimeServer) UpdatePodSandboxResources(ctx context.Context, q *cri.UpdatePodSandboxResourcesRequest) (*cri.UpdatePodSandboxResourcesResponse, error) {
	id, err := s.sandboxID(ctx, q.GetPodSandboxId())
	if err == nil {
		_, err = s.runtime.PodSandboxStatus(ctx, id)
	}
	return &cri.UpdatePodSandboxResourcesResponse{}, err
}

// sandboxID completes a shortened sandbox ID. It returns an unknown ID unchanged.
func (s *Server) sandboxID(ctx context.Context, prefix string) (string, error) {
	if prefix == "" || len(prefix) >= idLength {
		return prefix, nil
	}
	all, err := s.runtime.ListPodSandbox(ctx, nil)
	if err != nil {
		return "", err
	}
	var matches []string
	for _, sandbox := range all {
		if strings.HasPrefix(sandbox.GetId(), prefix) {
			matches = append(matches, sandbox.GetId())
		}
	}
	return oneOf("sandbox", prefix, matches)
}
