package criserver

import (
	"context"
	"strings"
	"time"

	cri "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// runtimeServer implements CRI's RuntimeService. Calls without a method here fail with code
// Unimplemented. These are CheckpointPod, RestorePod and streamed lists. The kubelet uses plain lists
// instead of streamed ones.
type runtimeServer struct {
	cri.UnimplementedRuntimeServiceServer
	*Server
}

// RunPodSandbox implements cri.RuntimeServiceServer.
func (s *runtimeServer) RunPodSandbox(ctx context.Context, req *cri.RunPodSandboxRequest) (*cri.RunPodSandboxResponse, error) {
	if req.GetConfig().GetMetadata() == nil {
		return nil, requiredError("RunPodSandbox", "config.metadata")
	}
	id, err := s.runtime.RunPodSandbox(ctx, req.GetConfig(), req.GetRuntimeHandler())
	if err != nil {
		return nil, err
	}
	s.publishSandbox(ctx, id, cri.ContainerEventType_CONTAINER_CREATED_EVENT)
	s.publishSandbox(ctx, id, cri.ContainerEventType_CONTAINER_STARTED_EVENT)
	return &cri.RunPodSandboxResponse{PodSandboxId: id}, nil
}

// StopPodSandbox implements cri.RuntimeServiceServer.
func (s *runtimeServer) StopPodSandbox(ctx context.Context, req *cri.StopPodSandboxRequest) (*cri.StopPodSandboxResponse, error) {
	id, err := s.sandboxID(ctx, req.GetPodSandboxId())
	if err != nil {
		return nil, err
	}
	status, _ := s.runtime.PodSandboxStatus(ctx, id)
	if err := s.runtime.StopPodSandbox(ctx, id); err != nil {
		return nil, err
	}
	if status != nil && status.GetState() == cri.PodSandboxState_SANDBOX_READY {
		s.publishSandbox(ctx, id, cri.ContainerEventType_CONTAINER_STOPPED_EVENT)
	}
	return &cri.StopPodSandboxResponse{}, nil
}

// RemovePodSandbox implements cri.RuntimeServiceServer.
func (s *runtimeServer) RemovePodSandbox(ctx context.Context, req *cri.RemovePodSandboxRequest) (*cri.RemovePodSandboxResponse, error) {
	id, err := s.sandboxID(ctx, req.GetPodSandboxId())
	if err != nil {
		return nil, err
	}
	status, _ := s.runtime.PodSandboxStatus(ctx, id)
	if err := s.runtime.RemovePodSandbox(ctx, id); err != nil {
		return nil, err
	}
	if status != nil {
		s.publishRemoved(id, status)
	}
	return &cri.RemovePodSandboxResponse{}, nil
}

// PodSandboxStatus implements cri.RuntimeServiceServer.
func (s *runtimeServer) PodSandboxStatus(ctx context.Context, req *cri.PodSandboxStatusRequest) (*cri.PodSandboxStatusResponse, error) {
	id, err := s.sandboxID(ctx, req.GetPodSandboxId())
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
func (s *runtimeServer) ListPodSandbox(ctx context.Context, req *cri.ListPodSandboxRequest) (*cri.ListPodSandboxResponse, error) {
	f := req.GetFilter()
	id, err := s.sandboxID(ctx, f.GetId())
	if err != nil {
		return nil, err
	}
	items, err := s.runtime.ListPodSandbox(ctx, &cri.PodSandboxFilter{Id: id, State: f.GetState(), LabelSelector: f.GetLabelSelector()})
	return &cri.ListPodSandboxResponse{Items: items}, err
}

// PortForward implements cri.RuntimeServiceServer.
func (s *runtimeServer) PortForward(ctx context.Context, req *cri.PortForwardRequest) (*cri.PortForwardResponse, error) {
	id, err := s.sandboxID(ctx, req.GetPodSandboxId())
	if err != nil {
		return nil, err
	}
	url, err := s.runtime.PortForward(ctx, &cri.PortForwardRequest{PodSandboxId: id, Port: req.GetPort()})
	return &cri.PortForwardResponse{Url: url}, err
}

// UpdatePodSandboxResources implements cri.RuntimeServiceServer. The caller manages the pod's
// cgroup, so there is nothing to update.
func (s *runtimeServer) UpdatePodSandboxResources(ctx context.Context, req *cri.UpdatePodSandboxResourcesRequest) (*cri.UpdatePodSandboxResourcesResponse, error) {
	id, err := s.sandboxID(ctx, req.GetPodSandboxId())
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
	list, err := s.runtime.ListPodSandbox(ctx, nil)
	if err != nil {
		return "", err
	}
	var matches []string
	for _, sandbox := range list {
		if strings.HasPrefix(sandbox.GetId(), prefix) {
			matches = append(matches, sandbox.GetId())
		}
	}
	return uniqueID("sandbox", prefix, matches)
}
