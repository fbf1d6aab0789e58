package apiserver

import (
	"fmt"

	"github.com/berthproject/berth/apiserver/componentstatus"
)

// Addresses at which kube-scheduler, kube-controller-manager and, by default, Berth's processes serve their health.
const (
	schedulerHealthAddress  = "127.0.0.1:10259"
	controllerHealthAddress = "127.0.0.1:10257"
)

// setDefaultComponentChecks sets the checks of the members of etcd and of components that run in other processes of
// this machine.
func (s *Server) setDefaultComponentChecks() {
	for i, check := range s.backend.MemberChecks() {
		s.components.Set(fmt.Sprintf("etcd-%d", i), check)
	}
	s.components.Set(componentstatus.Scheduler, componentstatus.HTTPS(schedulerHealthAddress))
	s.components.Set(componentstatus.ControllerManager, componentstatus.HTTPS(controllerHealthAddress))
}

// SetComponentCheck sets the health check of a component that ComponentStatus reports, for a component in this
// process. The default for components other than etcd is a request to their port on this machine.
func (s *Server) SetComponentCheck(name string, check componentstatus.Check) {
	s.components.Set(name, check)
}
