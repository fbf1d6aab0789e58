package criserver

import (
	"context"
	"time"

	cri "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// ExecSync implements cri.RuntimeServiceServer.
func (s *runtimeServer) ExecSync(ctx context.Context, q *cri.ExecSyncRequest) (*cri.ExecSyncResponse, error) {
	if len(q.GetCmd()) == 0 {
		return nil, missing("ExecSync", "cmd")
	}
	id, err := s.containerID(ctx, q.GetContainerId())
	if err != nil {
		return nil, err
	}
	return s.runtime.ExecSync(ctx, id, q.GetCmd(), time.Duration(q.GetTimeout())*time.Second)
}

// Exec implements cri.RuntimeServiceServer.
func (s *runtimeServer) Exec(ctx context.Context, q *cri.ExecRequest) (*cri.ExecResponse, error) {
	id, err := s.containerID(ctx, q.GetContainerId())
	if err != nil {
		return nil, err
	}
	url, err := s.runtime.Exec(ctx, &cri.ExecRequest{ContainerId: id, Cmd: q.GetCmd(), Tty: q.GetTty(), Stdin: q.GetStdin(), Stdout: q.GetStdout(), Stderr: q.GetStderr()})
	return &cri.ExecResponse{Url: url}, err
}

// Attach implements cri.RuntimeServiceServer.
func (s *runtimeServer) Attach(ctx context.Context, q *cri.AttachRequest) (*cri.AttachResponse, error) {
	id, err := s.containerID(ctx, q.GetContainerId())
	if err != nil {
		return nil, err
	}
	url, err := s.runtime.Attach(ctx, &cri.AttachRequest{ContainerId: id, Tty: q.GetTty(), Stdin: q.GetStdin(), Stdout: q.GetStdout(), Stderr: q.GetStderr()})
	return &cri.AttachResponse{Url: url}, err
}
