package core

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/berthproject/berth/apiserver/validation/checks"
)

// Maximum lengths in bytes of the names and of the message of an event.
const (
	maxEventName    = 128
	maxEventMessage = 1024
)

// ValidateEvent validates a new event. The rules for requests through the core group are less
// strict. version is the group and version of the request.
func ValidateEvent(e *corev1.Event, version schema.GroupVersion) field.ErrorList {
	errs := validateCommonEventFields(e, version)
	if version == corev1.SchemeGroupVersion {
		return errs
	}
	errs = append(errs, checks.ObjectMeta(&e.ObjectMeta, true, apivalidation.NameIsDNSSubdomain)...)
	errs = append(errs, validateEventSeries(e)...)
	if e.EventTime.IsZero() {
		errs = append(errs, field.Required(field.NewPath("eventTime"), ""))
	}
	if e.Type != corev1.EventTypeNormal && e.Type != corev1.EventTypeWarning {
		errs = append(errs, field.Invalid(field.NewPath("type"), "", fmt.Sprintf("has invalid value: %v", e.Type)))
	}
	requireUnset := func(isSet bool, name string) {
		if isSet {
			errs = append(errs, field.Invalid(field.NewPath(name), "", "needs to be unset"))
		}
	}
	requireUnset(!e.FirstTimestamp.IsZero(), "firstTimestamp")
	requireUnset(!e.LastTimestamp.IsZero(), "lastTimestamp")
	requireUnset(e.Count != 0, "count")
	requireUnset(e.Source != corev1.EventSource{}, "source")
	return errs
}

// ValidateEventUpdate validates an update. Through events.k8s.io only the series is mutable.
func ValidateEventUpdate(e, old *corev1.Event, version schema.GroupVersion) field.ErrorList {
	errs := validateCommonEventFields(e, version)
	if version == corev1.SchemeGroupVersion {
		return errs
	}
	errs = append(errs, checks.ObjectMetaUpdate(&e.ObjectMeta, &old.ObjectMeta)...)
	if !checks.SemanticEqual(e.Series, old.Series) {
		errs = append(errs, validateEventSeries(e)...)
	}
	requireUnchanged := func(value, oldValue any, name string) {
		errs = append(errs, checks.Immutable(value, oldValue, field.NewPath(name))...)
	}
	requireUnchanged(e.InvolvedObject, old.InvolvedObject, "involvedObject")
	requireUnchanged(e.Reason, old.Reason, "reason")
	requireUnchanged(e.Message, old.Message, "message")
	requireUnchanged(e.Source, old.Source, "source")
	requireUnchanged(e.FirstTimestamp, old.FirstTimestamp, "firstTimestamp")
	requireUnchanged(e.LastTimestamp, old.LastTimestamp, "lastTimestamp")
	requireUnchanged(e.Count, old.Count, "count")
	requireUnchanged(e.Type, old.Type, "type")
	// Stored times have a resolution of microseconds.
	requireUnchanged(metav1.NewMicroTime(e.EventTime.Truncate(time.Microsecond)), metav1.NewMicroTime(old.EventTime.Truncate(time.Microsecond)), "eventTime")
	requireUnchanged(e.Action, old.Action, "action")
	requireUnchanged(e.Related, old.Related, "related")
	requireUnchanged(e.ReportingController, old.ReportingController, "reportingController")
	requireUnchanged(e.ReportingInstance, old.ReportingInstance, "reportingInstance")
	return errs
}

// validateCommonEventFields applies the rules common to both groups. They are stricter for an event with
// eventTime.
func validateCommonEventFields(e *corev1.Event, version schema.GroupVersion) field.ErrorList {
	var errs field.ErrorList
	involvedNamespace := e.InvolvedObject.Namespace
	namespaceErr := field.Invalid(field.NewPath("involvedObject", "namespace"), involvedNamespace, "does not match event.namespace")
	if e.EventTime.IsZero() {
		switch {
		case involvedNamespace == "" && (e.Namespace == "" || e.Namespace == corev1.NamespaceDefault):
		case involvedNamespace != e.Namespace:
			errs = append(errs, namespaceErr)
		}
	} else {
		if involvedNamespace == "" && e.Namespace != corev1.NamespaceDefault && e.Namespace != "kube-system" {
			errs = append(errs, namespaceErr)
		}
		errs = append(errs, validateEventReport(e, version)...)
	}
	return append(errs, checks.InvalidEach(field.NewPath("namespace"), e.Namespace, validation.IsDNS1123Subdomain(e.Namespace))...)
}

// validateEventReport validates the controller, action, reason and message of an event with eventTime.
func validateEventReport(e *corev1.Event, version schema.GroupVersion) field.ErrorList {
	controllerPath := field.NewPath("reportingController")
	if version == corev1.SchemeGroupVersion {
		controllerPath = field.NewPath("reportingComponent")
	}
	var errs field.ErrorList
	if e.ReportingController == "" {
		errs = append(errs, field.Required(controllerPath, ""))
	}
	errs = append(errs, checks.QualifiedName(e.ReportingController, controllerPath)...)
	requireName := func(value, name string) {
		if value == "" {
			errs = append(errs, field.Required(field.NewPath(name), ""))
		}
		errs = append(errs, validateTextLength(value, name, maxEventName)...)
	}
	requireName(e.ReportingInstance, "reportingInstance")
	requireName(e.Action, "action")
	requireName(e.Reason, "reason")
	return append(errs, validateTextLength(e.Message, "message", maxEventMessage)...)
}

func validateTextLength(value, name string, limit int) field.ErrorList {
	if len(value) <= limit {
		return nil
	}
	return field.ErrorList{field.Invalid(field.NewPath(name), "", fmt.Sprintf("can have at most %d characters", limit))}
}

func validateEventSeries(e *corev1.Event) field.ErrorList {
	if e.Series == nil {
		return nil
	}
	var errs field.ErrorList
	if e.Series.Count < 2 {
		errs = append(errs, field.Invalid(field.NewPath("series.count"), "", "should be at least 2"))
	}
	if e.Series.LastObservedTime.IsZero() {
		errs = append(errs, field.Required(field.NewPath("series.lastObservedTime"), ""))
	}
	return errs
}
