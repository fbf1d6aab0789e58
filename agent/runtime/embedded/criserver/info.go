package criserver

import (
	"context"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// Version implements cri.RuntimeServiceServer.
func (s *runtimeServer) Version(ctx context.Context, _ *cri.VersionRequest) (*cri.VersionResponse, error) {
	return s.runtime.Version(ctx)
}

// Status implements cri.RuntimeServiceServer.
func (s *runtimeServer) Status(ctx context.Context, _ *cri.StatusRequest) (*cri.StatusResponse, error) {
	conditions, err := s.runtime.Status(ctx)
	if err != nil {
		return nil, err
	}
	handler := &cri.RuntimeHandler{Features: &cri.RuntimeHandlerFeatures{RecursiveReadOnlyMounts: true}}
	return &cri.StatusResponse{Status: conditions, RuntimeHandlers: []*cri.RuntimeHandler{handler},
		Features: &cri.RuntimeFeatures{SupplementalGroupsPolicy: true}}, nil
}

// RuntimeConfig implements cri.RuntimeServiceServer.
func (s *runtimeServer) RuntimeConfig(context.Context, *cri.RuntimeConfigRequest) (*cri.RuntimeConfigResponse, error) {
	return &cri.RuntimeConfigResponse{Linux: &cri.LinuxRuntimeConfiguration{CgroupDriver: cri.CgroupDriver_CGROUPFS}}, nil
}

// UpdateRuntimeConfig implements cri.RuntimeServiceServer. The network of the pods is chosen when
// the runtime starts, so another one is refused.
func (s *runtimeServer) UpdateRuntimeConfig(_ context.Context, req *cri.UpdateRuntimeConfigRequest) (*cri.UpdateRuntimeConfigResponse, error) {
	cidr := req.GetRuntimeConfig().GetNetworkConfig().GetPodCidr()
	if cidr != "" && cidr != s.runtime.PodCIDR() {
		return nil, status.Errorf(codes.InvalidArgument, "UpdateRuntimeConfig: pod_cidr %q: must be the network that the runtime was started with, %q", cidr, s.runtime.PodCIDR())
	}
	return &cri.UpdateRuntimeConfigResponse{}, nil
}
