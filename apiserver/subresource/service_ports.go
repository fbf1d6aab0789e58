package subresource

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/validation/field"
	utilsnet "k8s.io/utils/net"

	"github.com/berthproject/berth/apiserver/validation/network"
)

// allocatePorts allocates the requested node ports, then free ports for the ports without one. TCP
// and UDP of the same port share a node port.
func (t *transaction) allocatePorts(ctx context.Context, service, old *corev1.Service) (field.ErrorList, error) {
	// A LoadBalancer that does not need node ports may still request some.
	if network.NeedsNodePorts(service) || service.Spec.Type == corev1.ServiceTypeLoadBalancer {
		if errs, err := t.allocateRequestedPorts(ctx, service, old); err != nil || len(errs) > 0 {
			return errs, err
		}
	}
	if network.NeedsNodePorts(service) {
		if err := t.allocateMissingPorts(ctx, service); err != nil {
			return nil, err
		}
	}
	if network.NeedsHealthCheckNodePort(service) {
		return t.allocateHealthCheckPort(ctx, service, old)
	}
	return nil, nil
}

// hasPort reports whether the service or its old version already has the port.
func (t *transaction) hasPort(port int32, old *corev1.Service) bool {
	c := allocation{nodePortPool, strconv.Itoa(int(port))}
	return slices.Contains(t.allocated, c) || old != nil && slices.Contains(allocationsOf(old), c)
}

func (t *transaction) allocateRequestedPorts(ctx context.Context, service, old *corev1.Service) (field.ErrorList, error) {
	var errs field.ErrorList
	for i, port := range service.Spec.Ports {
		if port.NodePort == 0 || t.hasPort(port.NodePort, old) {
			continue
		}
		a := allocation{nodePortPool, strconv.Itoa(int(port.NodePort))}
		err := allocatePort(ctx, t.clusterIPs.allocator, port.NodePort, t.owner)
		if errors.Is(err, errPortAllocated) && t.isInProgress(ctx, a) {
			return nil, t.inProgressError(service, a)
		}
		if errors.Is(err, errPortAllocated) || errors.Is(err, errPortOutOfRange) {
			errs = append(errs, field.Invalid(field.NewPath("spec", "ports").Index(i).Child("nodePort"), port.NodePort, err.Error()))
			continue
		}
		if err != nil {
			return nil, apierrors.NewInternalError(fmt.Errorf("failed to allocate nodePort %d: %w", port.NodePort, err))
		}
		t.record(a.pool, a.value)
	}
	return errs, nil
}

func (t *transaction) allocateMissingPorts(ctx context.Context, service *corev1.Service) error {
	for i := range service.Spec.Ports {
		port := &service.Spec.Ports[i]
		if port.NodePort != 0 {
			continue
		}
		if port.NodePort = sharedPort(service.Spec.Ports, i); port.NodePort != 0 {
			continue
		}
		nodePort, err := allocateNextPort(ctx, t.clusterIPs.allocator, t.owner)
		if err != nil {
			return apierrors.NewInternalError(fmt.Errorf("failed to allocate a nodePort: %w", err))
		}
		t.record(nodePortPool, strconv.Itoa(int(nodePort)))
		port.NodePort = nodePort
	}
	return nil
}

// sharedPort returns the node port of the same port with another protocol, or 0.
func sharedPort(ports []corev1.ServicePort, i int) int32 {
	for j, other := range ports {
		if j != i && other.Port == ports[i].Port && other.Protocol != ports[i].Protocol && other.NodePort != 0 {
			return other.NodePort
		}
	}
	return 0
}

func (t *transaction) allocateHealthCheckPort(ctx context.Context, service, old *corev1.Service) (field.ErrorList, error) {
	port := &service.Spec.HealthCheckNodePort
	switch {
	case *port != 0 && t.hasPort(*port, old):
		return nil, nil
	case *port != 0:
		err := allocatePort(ctx, t.clusterIPs.allocator, *port, t.owner)
		if a := (allocation{nodePortPool, strconv.Itoa(int(*port))}); errors.Is(err, errPortAllocated) && t.isInProgress(ctx, a) {
			return nil, t.inProgressError(service, a)
		}
		if err != nil {
			return nil, apierrors.NewInternalError(fmt.Errorf("failed to allocate requested HealthCheck NodePort %v: %w", *port, err))
		}
	default:
		nodePort, err := allocateNextPort(ctx, t.clusterIPs.allocator, t.owner)
		if err != nil {
			return nil, apierrors.NewInternalError(fmt.Errorf("failed to allocate a HealthCheck NodePort: %w", err))
		}
		*port = nodePort
	}
	t.record(nodePortPool, strconv.Itoa(int(*port)))
	return nil, nil
}

// setIPFamilies sets the IP families. Only the family of the service range is supported.
func (t *transaction) setIPFamilies(service *corev1.Service) field.ErrorList {
	spec := &service.Spec
	if !network.NeedsClusterIP(service) {
		return nil
	}
	configured, other := corev1.IPv4Protocol, corev1.IPv6Protocol
	if t.clusterIPs.network.Addr().Is6() {
		configured, other = other, configured
	}
	if spec.ClusterIP == corev1.ClusterIPNone && len(spec.Selector) == 0 {
		setHeadlessFamilies(spec, configured, other) // users manage its endpoints, which may have any family
		return nil
	}
	for i, ip := range spec.ClusterIPs {
		if ip != corev1.ClusterIPNone && i >= len(spec.IPFamilies) && utilsnet.IsIPv6String(ip) != (configured == corev1.IPv6Protocol) && utilsnet.ParseIPSloppy(ip) != nil {
			return field.ErrorList{field.Invalid(field.NewPath("spec", "clusterIPs").Index(i), ip, fmt.Sprintf("may not use %s on a cluster which is not configured for it", other))}
		}
	}
	for i, family := range spec.IPFamilies {
		if family == other {
			return field.ErrorList{field.Invalid(field.NewPath("spec", "ipFamilies").Index(i), family, "not configured on this cluster")}
		}
	}
	if spec.IPFamilyPolicy != nil && *spec.IPFamilyPolicy == corev1.IPFamilyPolicyRequireDualStack {
		return field.ErrorList{field.Invalid(field.NewPath("spec", "ipFamilyPolicy"), *spec.IPFamilyPolicy, "this cluster is not configured for dual-stack services")}
	}
	if spec.IPFamilyPolicy == nil {
		single := corev1.IPFamilyPolicySingleStack
		spec.IPFamilyPolicy = &single
	}
	if len(spec.IPFamilies) == 0 {
		spec.IPFamilies = []corev1.IPFamily{configured}
	}
	return nil
}

// setHeadlessFamilies sets the IP families of a headless service without a selector.
func setHeadlessFamilies(spec *corev1.ServiceSpec, primary, secondary corev1.IPFamily) {
	if spec.IPFamilyPolicy == nil {
		dual := corev1.IPFamilyPolicyRequireDualStack
		spec.IPFamilyPolicy = &dual
	}
	if len(spec.IPFamilies) == 0 {
		spec.IPFamilies = []corev1.IPFamily{primary}
	}
	if *spec.IPFamilyPolicy != corev1.IPFamilyPolicySingleStack && len(spec.IPFamilies) == 1 {
		added := secondary
		if spec.IPFamilies[0] == secondary {
			added = primary
		}
		spec.IPFamilies = append(spec.IPFamilies, added)
	}
}
