package runtime

import (
	"errors"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// hostPortInUse identifies the error of HostPortInUse. CRI has no code for it.
const hostPortInUse, errorDomain = "HOST_PORT_IN_USE", "berth.dev"

// HostPortInUse returns the gRPC error of a sandbox whose host port is mapped to another pod. err is
// the cause.
func HostPortInUse(err error) error {
	s := status.New(codes.FailedPrecondition, err.Error())
	detailed, detailErr := s.WithDetails(&errdetails.ErrorInfo{Reason: hostPortInUse, Domain: errorDomain})
	if detailErr != nil {
		return errors.Join(s.Err(), detailErr)
	}
	return detailed.Err()
}

// IsHostPortInUse reports whether err is, or wraps, an error of HostPortInUse.
func IsHostPortInUse(err error) bool {
	for _, detail := range status.Convert(err).Details() {
		if info, ok := detail.(*errdetails.ErrorInfo); ok && info.GetReason() == hostPortInUse && info.GetDomain() == errorDomain {
			return true
		}
	}
	return false
}
