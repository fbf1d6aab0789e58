package criserver

import (
	"context"
	"strings"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// CreateContainer implements cri.RuntimeServiceServer.
func (s *runtimeServer) CreateContainer(ctx context.Context, req *cri.CreateContainerRequest) (*cri.CreateContainerResponse, error) {
	if req.GetConfig().GetMetadata() == nil {
		return nil, requiredError("CreateContainer", "config.metadata")
	}
	sandbox, err := s.sandboxID(ctx, req.GetPodSandboxId())
	if err != nil {
		return nil, err
	}
	id, err := s.runtime.CreateContainer(ctx, sandbox, req.GetConfig(), req.GetSandboxConfig())
	if err != nil {
		return nil, err
	}
	s.publishContainer(ctx, id, cri.ContainerEventType_CONTAINER_CREATED_EVENT)
	return &cri.CreateContainerResponse{ContainerId: id}, nil
}

// StartContainer implements cri.RuntimeServiceServer.
func (s *runtimeServer) StartContainer(ctx context.Context, req *cri.StartContainerRequest) (*cri.StartContainerResponse, error) {
	id, err := s.containerID(ctx, req.GetContainerId())
	if err == nil {
		err = s.runtime.StartContainer(ctx, id)
	}
	if err != nil {
		return nil, err
	}
	s.publishContainer(ctx, id, cri.ContainerEventType_CONTAINER_STARTED_EVENT)
	return &cri.StartContainerResponse{}, nil
}

// StopContainer implements cri.RuntimeServiceServer.
func (s *runtimeServer) StopContainer(ctx context.Context, req *cri.StopContainerRequest) (*cri.StopContainerResponse, error) {
	id, err := s.containerID(ctx, req.GetContainerId())
	if err == nil {
		err = s.runtime.StopContainer(ctx, id, time.Duration(req.GetTimeout())*time.Second)
	}
	return &cri.StopContainerResponse{}, err
}

// RemoveContainer implements cri.RuntimeServiceServer.
func (s *runtimeServer) RemoveContainer(ctx context.Context, req *cri.RemoveContainerRequest) (*cri.RemoveContainerResponse, error) {
	id, err := s.containerID(ctx, req.GetContainerId())
	if err != nil {
		return nil, err
	}
	sandbox := s.sandboxOf(ctx, id)
	if err := s.runtime.RemoveContainer(ctx, id); err != nil {
		return nil, err
	}
	if sandbox != "" {
		sandboxStatus, _ := s.runtime.PodSandboxStatus(ctx, sandbox)
		s.publishRemoved(id, sandboxStatus)
	}
	return &cri.RemoveContainerResponse{}, nil
}

// ContainerStatus implements cri.RuntimeServiceServer.
func (s *runtimeServer) ContainerStatus(ctx context.Context, req *cri.ContainerStatusRequest) (*cri.ContainerStatusResponse, error) {
	id, err := s.containerID(ctx, req.GetContainerId())
	if err != nil {
		return nil, err
	}
	containerStatus, err := s.runtime.ContainerStatus(ctx, id)
	return &cri.ContainerStatusResponse{Status: containerStatus}, err
}

// ListContainers implements cri.RuntimeServiceServer.
func (s *runtimeServer) ListContainers(ctx context.Context, req *cri.ListContainersRequest) (*cri.ListContainersResponse, error) {
	f := req.GetFilter()
	id, err := s.containerID(ctx, f.GetId())
	if err != nil {
		return nil, err
	}
	sandbox, err := s.sandboxID(ctx, f.GetPodSandboxId())
	if err != nil {
		return nil, err
	}
	list, err := s.runtime.ListContainers(ctx, &cri.ContainerFilter{Id: id, PodSandboxId: sandbox, State: f.GetState(), LabelSelector: f.GetLabelSelector()})
	return &cri.ListContainersResponse{Containers: list}, err
}

// UpdateContainerResources implements cri.RuntimeServiceServer.
func (s *runtimeServer) UpdateContainerResources(ctx context.Context, req *cri.UpdateContainerResourcesRequest) (*cri.UpdateContainerResourcesResponse, error) {
	id, err := s.containerID(ctx, req.GetContainerId())
	if err == nil {
		err = s.runtime.UpdateContainerResources(ctx, id, req.GetLinux())
	}
	return &cri.UpdateContainerResourcesResponse{}, err
}

// ReopenContainerLog implements cri.RuntimeServiceServer.
func (s *runtimeServer) ReopenContainerLog(ctx context.Context, req *cri.ReopenContainerLogRequest) (*cri.ReopenContainerLogResponse, error) {
	id, err := s.containerID(ctx, req.GetContainerId())
	if err == nil {
		err = s.runtime.ReopenContainerLog(ctx, id)
	}
	return &cri.ReopenContainerLogResponse{}, err
}

// CheckpointContainer implements cri.RuntimeServiceServer.
func (s *runtimeServer) CheckpointContainer(context.Context, *cri.CheckpointContainerRequest) (*cri.CheckpointContainerResponse, error) {
	return nil, status.Error(codes.Unimplemented, "the embedded runtime does not support CheckpointContainer: checkpoints are not implemented")
}

// containerID completes a shortened container ID. It returns an unknown ID unchanged.
func (s *Server) containerID(ctx context.Context, prefix string) (string, error) {
	if prefix == "" || len(prefix) >= idLength {
		return prefix, nil
	}
	list, err := s.runtime.ListContainers(ctx, nil)
	if err != nil {
		return "", err
	}
	var matches []string
	for _, c := range list {
		if strings.HasPrefix(c.GetId(), prefix) {
			matches = append(matches, c.GetId())
		}
	}
	return uniqueID("container", prefix, matches)
}

// sandboxOf returns the sandbox of a container, or "".
func (s *Server) sandboxOf(ctx context.Context, container string) string {
	list, err := s.runtime.ListContainers(ctx, &cri.ContainerFilter{Id: container})
	if err != nil || len(list) != 1 {
		return ""
	}
	return list[0].GetPodSandboxId()
}

func (s *Server) containerStatuses(ctx context.Context, sandbox string) (out []*cri.ContainerStatus, err error) {
	list, err := s.runtime.ListContainers(ctx, &cri.ContainerFilter{PodSandboxId: sandbox})
	if err != nil {
		return nil, err
	}
	for _, c := range list {
		containerStatus, err := s.runtime.ContainerStatus(ctx, c.GetId())
		if status.Code(err) == codes.NotFound { // removed meanwhile
			continue
		}
		if err != nil {
			return nil, err
		}
		out = append(out, containerStatus)
	}
	return out, nil
}
