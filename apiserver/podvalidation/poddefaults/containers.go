package poddefaults

import (
	"github.com/distribution/reference"
	corev1 "k8s.io/api/core/v1"

	"github.com/berthproject/berth/apiserver/podvalidation/defaulting"
)

func defaultContainer(c *corev1.Container) {
	defaulting.Set(&c.ImagePullPolicy, pullPolicyFor(c.Image))
	defaulting.Set(&c.TerminationMessagePath, corev1.TerminationMessagePathDefault)
	defaulting.Set(&c.TerminationMessagePolicy, corev1.TerminationMessageReadFile)
	for i := range c.Ports {
		defaulting.Set(&c.Ports[i].Protocol, corev1.ProtocolTCP)
	}
	for i := range c.Env {
		defaultEnv(c.Env[i].ValueFrom)
	}
	DefaultResourceList(c.Resources.Limits)
	DefaultResourceList(c.Resources.Requests)
	defaultProbe(c.LivenessProbe)
	defaultProbe(c.ReadinessProbe)
	defaultProbe(c.StartupProbe)
	if c.Lifecycle != nil {
		if c.Lifecycle.PostStart != nil {
			defaultHTTPGet(c.Lifecycle.PostStart.HTTPGet)
		}
		if c.Lifecycle.PreStop != nil {
			defaultHTTPGet(c.Lifecycle.PreStop.HTTPGet)
		}
	}
}

// pullPolicyFor returns Always for images that have the tag latest, or neither a tag nor a digest. It returns
// IfNotPresent for all others, including names that do not parse.
func pullPolicyFor(image string) corev1.PullPolicy {
	named, err := reference.ParseNormalizedNamed(image)
	if err != nil {
		return corev1.PullIfNotPresent
	}
	if reference.IsNameOnly(named) {
		return corev1.PullAlways
	}
	if tagged, ok := named.(reference.Tagged); ok && tagged.Tag() == "latest" {
		return corev1.PullAlways
	}
	return corev1.PullIfNotPresent
}

func defaultEnv(source *corev1.EnvVarSource) {
	if source == nil {
		return
	}
	defaultFieldRef(source.FieldRef)
	if source.FileKeyRef != nil {
		defaulting.SetPointer(&source.FileKeyRef.Optional, false)
	}
}

func defaultFieldRef(ref *corev1.ObjectFieldSelector) {
	if ref != nil {
		defaulting.Set(&ref.APIVersion, "v1")
	}
}

func defaultProbe(probe *corev1.Probe) {
	if probe == nil {
		return
	}
	defaulting.Set(&probe.TimeoutSeconds, 1)
	defaulting.Set(&probe.PeriodSeconds, 10)
	defaulting.Set(&probe.SuccessThreshold, 1)
	defaulting.Set(&probe.FailureThreshold, 3)
	defaultHTTPGet(probe.HTTPGet)
	if probe.GRPC != nil {
		defaulting.SetPointer(&probe.GRPC.Service, "")
	}
}

func defaultHTTPGet(action *corev1.HTTPGetAction) {
	if action == nil {
		return
	}
	defaulting.Set(&action.Path, "/")
	defaulting.Set(&action.Scheme, corev1.URISchemeHTTP)
}
