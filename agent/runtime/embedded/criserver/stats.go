package criserver

import (
	"context"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// ContainerStats implements cri.RuntimeServiceServer. It measures the writable layer, which a
// container also has when it is not running.
func (s *runtimeServer) ContainerStats(ctx context.Context, req *cri.ContainerStatsRequest) (*cri.ContainerStatsResponse, error) {
	if req.GetContainerId() == "" {
		return nil, requiredError("ContainerStats", "container_id")
	}
	id, err := s.containerID(ctx, req.GetContainerId())
	if err != nil {
		return nil, err
	}
	stats, err := s.runtime.ContainerStats(ctx, id)
	return &cri.ContainerStatsResponse{Stats: stats}, err
}

// ListContainerStats implements cri.RuntimeServiceServer.
func (s *runtimeServer) ListContainerStats(ctx context.Context, req *cri.ListContainerStatsRequest) (*cri.ListContainerStatsResponse, error) {
	f := req.GetFilter()
	id, err := s.containerID(ctx, f.GetId())
	if err != nil {
		return nil, err
	}
	sandbox, err := s.sandboxID(ctx, f.GetPodSandboxId())
	if err != nil {
		return nil, err
	}
	list, err := s.runtime.ListContainerStats(ctx, &cri.ContainerStatsFilter{Id: id, PodSandboxId: sandbox, LabelSelector: f.GetLabelSelector()})
	return &cri.ListContainerStatsResponse{Stats: list}, err
}

// PodSandboxStats implements cri.RuntimeServiceServer.
func (s *runtimeServer) PodSandboxStats(ctx context.Context, req *cri.PodSandboxStatsRequest) (*cri.PodSandboxStatsResponse, error) {
	if req.GetPodSandboxId() == "" {
		return nil, requiredError("PodSandboxStats", "pod_sandbox_id")
	}
	id, err := s.sandboxID(ctx, req.GetPodSandboxId())
	if err != nil {
		return nil, err
	}
	sandbox, err := s.runtime.PodSandboxStatus(ctx, id)
	if err != nil {
		return nil, err
	}
	list, err := s.runtime.ListPodSandboxStats(ctx, &cri.PodSandboxStatsFilter{Id: id})
	if err != nil {
		return nil, err
	}
	if len(list) == 0 {
		return nil, status.Errorf(codes.FailedPrecondition, "sandbox %s is %v: only a ready sandbox has statistics", id, sandbox.GetState())
	}
	return &cri.PodSandboxStatsResponse{Stats: list[0]}, nil
}

// ListPodSandboxStats implements cri.RuntimeServiceServer.
func (s *runtimeServer) ListPodSandboxStats(ctx context.Context, req *cri.ListPodSandboxStatsRequest) (*cri.ListPodSandboxStatsResponse, error) {
	f := req.GetFilter()
	id, err := s.sandboxID(ctx, f.GetId())
	if err != nil {
		return nil, err
	}
	list, err := s.runtime.ListPodSandboxStats(ctx, &cri.PodSandboxStatsFilter{Id: id, LabelSelector: f.GetLabelSelector()})
	return &cri.ListPodSandboxStatsResponse{Stats: list}, err
}
