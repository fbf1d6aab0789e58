package criserver

import (
	"context"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// ContainerStats implements cri.RuntimeServiceServer. A container that is not running has only
// attributes.
func (s *runtimeServer) ContainerStats(ctx context.Context, q *cri.ContainerStatsRequest) (*cri.ContainerStatsResponse, error) {
	if q.GetContainerId() == "" {
		return nil, missing("ContainerStats", "container_id")
	}
	id, err := s.containerID(ctx, q.GetContainerId())
	if err != nil {
		return nil, err
	}
	c, err := s.runtime.ContainerStatus(ctx, id)
	if err != nil {
		return nil, err
	}
	all, err := s.runtime.ListContainerStats(ctx, &cri.ContainerStatsFilter{Id: id})
	if err != nil {
		return nil, err
	}
	if len(all) == 0 {
		all = append(all, &cri.ContainerStats{Attributes: &cri.ContainerAttributes{Id: id, Metadata: c.GetMetadata(), Labels: c.GetLabels(), Annotations: c.GetAnnotations()}})
	}
	return &cri.ContainerStatsResponse{Stats: all[0]}, nil
}

// ListContainerStats implements cri.RuntimeServiceServer.
func (s *runtimeServer) ListContainerStats(ctx context.Context, q *cri.ListContainerStatsRequest) (*cri.ListContainerStatsResponse, error) {
	f := q.GetFilter()
	id, err := s.containerID(ctx, f.GetId())
	if err != nil {
		return nil, err
	}
	sandbox, err := s.sandboxID(ctx, f.GetPodSandboxId())
	if err != nil {
		return nil, err
	}
	all, err := s.runtime.ListContainerStats(ctx, &cri.ContainerStatsFilter{Id: id, PodSandboxId: sandbox, LabelSelector: f.GetLabelSelector()})
	return &cri.ListContainerStatsResponse{Stats: all}, err
}

// PodSandboxStats implements cri.RuntimeServiceServer.
func (s *runtimeServer) PodSandboxStats(ctx context.Context, q *cri.PodSandboxStatsRequest) (*cri.PodSandboxStatsResponse, error) {
	if q.GetPodSandboxId() == "" {
		return nil, missing("PodSandboxStats", "pod_sandbox_id")
	}
	id, err := s.sandboxID(ctx, q.GetPodSandboxId())
	if err != nil {
		return nil, err
	}
	sandbox, err := s.runtime.PodSandboxStatus(ctx, id)
	if err != nil {
		return nil, err
	}
	all, err := s.runtime.ListPodSandboxStats(ctx, &cri.PodSandboxStatsFilter{Id: id})
	if err != nil {
		return nil, err
	}
	if len(all) == 0 {
		return nil, status.Errorf(codes.FailedPrecondition, "sandbox %s is %v: only a ready sandbox has statistics", id, sandbox.GetState())
	}
	return &cri.PodSandboxStatsResponse{Stats: all[0]}, nil
}

// ListPodSandboxStats implements cri.RuntimeServiceServer.
func (s *runtimeServer) ListPodSandboxStats(ctx context.Context, q *cri.ListPodSandboxStatsRequest) (*cri.ListPodSandboxStatsResponse, error) {
	f := q.GetFilter()
	id, err := s.sandboxID(ctx, f.GetId())
	if err != nil {
		return nil, err
	}
	all, err := s.runtime.ListPodSandboxStats(ctx, &cri.PodSandboxStatsFilter{Id: id, LabelSelector: f.GetLabelSelector()})
	return &cri.ListPodSandboxStatsResponse{Stats: all}, err
}
