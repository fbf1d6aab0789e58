package criserver

import (
	"context"
	"time"

	cri "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// ExecSync implements cri.RuntimeServiceServer.
func (s *runtimeServer) ExecSync(ctx context.Context, req *cri.ExecSyncRequest) (*cri.ExecSyncResponse, error) {
	if len(req.GetCmd()) == 0 {
		return nil, requiredError("ExecSync", "cmd")
	}
	id, err := s.containerID(ctx, req.GetContainerId())
	if err != nil {
		return nil, err
	}
	return s.runtime.ExecSync(ctx, id, req.GetCmd(), time.Duration(req.GetTimeout())*time.Second)
}

// Exec implements cri.RuntimeServiceServer.
func (s *runtimeServer) Exec(ctx context.Context, req *cri.ExecRequest) (*cri.ExecResponse, error) {
	id, err := s.containerID(ctx, req.GetContainerId())
	if err != nil {
		return nil, err
	}
	url, err := s.runtime.Exec(ctx, &cri.ExecRequest{ContainerId: id, Cmd: req.GetCmd(), Tty: req.GetTty(), Stdin: req.GetStdin(), Stdout: req.GetStdout(), Stderr: req.GetStderr()})
	return &cri.ExecResponse{Url: url}, err
}

// Attach implements cri.RuntimeServiceServer.
func (s *runtimeServer) Attach(ctx context.Context, req *cri.AttachRequest) (*cri.AttachResponse, error) {
	id, err := s.containerID(ctx, req.GetContainerId())
	if err != nil {
		return nil, err
	}
	url, err := s.runtime.Attach(ctx, &cri.AttachRequest{ContainerId: id, Tty: req.GetTty(), Stdin: req.GetStdin(), Stdout: req.GetStdout(), Stderr: req.GetStderr()})
	return &cri.AttachResponse{Url: url}, err
}
