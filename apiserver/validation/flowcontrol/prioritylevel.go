package flowcontrol

import (
	"fmt"

	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/apis/flowcontrol/bootstrap"
	"k8s.io/apiserver/pkg/util/shufflesharding"

	"github.com/berthproject/berth/apiserver/podvalidation/defaulting"
	"github.com/berthproject/berth/apiserver/validation/checks"
)

// Defaults of a limited priority level.
const (
	defaultShares      = 30
	defaultQueues      = 64
	defaultHandSize    = 8
	defaultQueueLength = 50
)

// maxQueues is the maximum number of queues of a priority level.
const maxQueues = 10 * 1000 * 1000

// DefaultPriorityLevel sets the defaults of a priority level.
func DefaultPriorityLevel(p *flowcontrolv1.PriorityLevelConfiguration) {
	switch p.Spec.Type {
	case flowcontrolv1.PriorityLevelEnablementExempt:
		if p.Spec.Exempt == nil {
			p.Spec.Exempt = &flowcontrolv1.ExemptPriorityLevelConfiguration{}
		}
		defaulting.SetPointer(&p.Spec.Exempt.NominalConcurrencyShares, 0)
		defaulting.SetPointer(&p.Spec.Exempt.LendablePercent, 0)
	case flowcontrolv1.PriorityLevelEnablementLimited:
		if p.Spec.Limited == nil {
			return
		}
		defaulting.SetPointer(&p.Spec.Limited.NominalConcurrencyShares, defaultShares)
		defaulting.SetPointer(&p.Spec.Limited.LendablePercent, 0)
		if p.Spec.Limited.LimitResponse.Type == flowcontrolv1.LimitResponseTypeQueue && p.Spec.Limited.LimitResponse.Queuing != nil {
			defaultQueuing(p.Spec.Limited.LimitResponse.Queuing)
		}
	}
}

func defaultQueuing(q *flowcontrolv1.QueuingConfiguration) {
	defaulting.Set(&q.HandSize, defaultHandSize)
	defaulting.Set(&q.Queues, defaultQueues)
	defaulting.Set(&q.QueueLengthLimit, defaultQueueLength)
}

// ValidatePriorityLevel validates a new priority level.
func ValidatePriorityLevel(p *flowcontrolv1.PriorityLevelConfiguration) field.ErrorList {
	errs := checks.ObjectMeta(&p.ObjectMeta, false, apivalidation.NameIsDNSSubdomain)
	specPath := field.NewPath("spec")
	errs = append(errs, validateMandatoryPriorityLevel(p, specPath)...)
	errs = append(errs, validatePriorityLevelSpec(p, specPath)...)
	return append(errs, validatePriorityLevelConditions(p, field.NewPath("status", "conditions"))...)
}

// ValidatePriorityLevelUpdate validates an update.
func ValidatePriorityLevelUpdate(p, old *flowcontrolv1.PriorityLevelConfiguration) field.ErrorList {
	return append(checks.ObjectMetaUpdate(&p.ObjectMeta, &old.ObjectMeta), ValidatePriorityLevel(p)...)
}

// ValidatePriorityLevelStatusUpdate validates the conditions.
func ValidatePriorityLevelStatusUpdate(p, old *flowcontrolv1.PriorityLevelConfiguration) field.ErrorList {
	return append(checks.ObjectMetaUpdate(&p.ObjectMeta, &old.ObjectMeta), validatePriorityLevelConditions(p, field.NewPath("status", "conditions"))...)
}

// validateMandatoryPriorityLevel requires the fixed specifications of the two mandatory levels. The shares
// of the exempt level may be changed.
func validateMandatoryPriorityLevel(p *flowcontrolv1.PriorityLevelConfiguration, path *field.Path) field.ErrorList {
	for _, mandatory := range bootstrap.MandatoryPriorityLevelConfigurations {
		if p.Name != mandatory.Name {
			continue
		}
		want := mandatory.Spec.DeepCopy()
		if want.Exempt != nil && p.Spec.Exempt != nil {
			want.Exempt = p.Spec.Exempt
		}
		if !checks.SemanticEqual(*want, p.Spec) {
			return field.ErrorList{field.Invalid(path, p.Spec, fmt.Sprintf("spec of '%s' must equal the fixed value", p.Name))}
		}
	}
	return nil
}

func validatePriorityLevelSpec(p *flowcontrolv1.PriorityLevelConfiguration, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	isExempt := p.Name == flowcontrolv1.PriorityLevelConfigurationNameExempt
	if isExempt != (p.Spec.Type == flowcontrolv1.PriorityLevelEnablementExempt) {
		errs = append(errs, field.Invalid(path.Child("type"), p.Spec.Type, "type must be 'Exempt' if and only if name is 'exempt'"))
	}
	switch p.Spec.Type {
	case flowcontrolv1.PriorityLevelEnablementExempt:
		if p.Spec.Limited != nil {
			errs = append(errs, field.Forbidden(path.Child("limited"), "must be nil if the type is not Limited"))
		}
		if e := p.Spec.Exempt; e != nil {
			errs = append(errs, checks.NonNegativeIfSet(e.NominalConcurrencyShares, path.Child("exempt", "nominalConcurrencyShares"))...)
			errs = append(errs, validatePercent(e.LendablePercent, path.Child("exempt", "lendablePercent"))...)
		}
	case flowcontrolv1.PriorityLevelEnablementLimited:
		if p.Spec.Exempt != nil {
			errs = append(errs, field.Forbidden(path.Child("exempt"), "must be nil if the type is Limited"))
		}
		if p.Spec.Limited == nil {
			return append(errs, field.Required(path.Child("limited"), "must not be empty when type is Limited"))
		}
		errs = append(errs, validateLimited(p.Spec.Limited, path.Child("limited"))...)
	default:
		errs = append(errs, field.NotSupported(path.Child("type"), p.Spec.Type,
			[]flowcontrolv1.PriorityLevelEnablement{flowcontrolv1.PriorityLevelEnablementExempt, flowcontrolv1.PriorityLevelEnablementLimited}))
	}
	return errs
}

func validateLimited(l *flowcontrolv1.LimitedPriorityLevelConfiguration, path *field.Path) field.ErrorList {
	errs := checks.NonNegativeIfSet(l.NominalConcurrencyShares, path.Child("nominalConcurrencyShares"))
	errs = append(errs, validatePercent(l.LendablePercent, path.Child("lendablePercent"))...)
	errs = append(errs, checks.NonNegativeIfSet(l.BorrowingLimitPercent, path.Child("borrowingLimitPercent"))...)
	responsePath := path.Child("limitResponse")
	switch l.LimitResponse.Type {
	case flowcontrolv1.LimitResponseTypeReject:
		if l.LimitResponse.Queuing != nil {
			errs = append(errs, field.Forbidden(responsePath.Child("queuing"), "must be nil if limited.limitResponse.type is not Limited"))
		}
	case flowcontrolv1.LimitResponseTypeQueue:
		if l.LimitResponse.Queuing == nil {
			return append(errs, field.Required(responsePath.Child("queuing"), "must not be empty if limited.limitResponse.type is Limited"))
		}
		errs = append(errs, validateQueuing(l.LimitResponse.Queuing, responsePath.Child("queuing"))...)
	default:
		errs = append(errs, field.NotSupported(responsePath.Child("type"), l.LimitResponse.Type,
			[]flowcontrolv1.LimitResponseType{flowcontrolv1.LimitResponseTypeQueue, flowcontrolv1.LimitResponseTypeReject}))
	}
	return errs
}

func validateQueuing(q *flowcontrolv1.QueuingConfiguration, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if q.QueueLengthLimit <= 0 {
		errs = append(errs, field.Invalid(path.Child("queueLengthLimit"), q.QueueLengthLimit, "must be positive"))
	}
	switch {
	case q.Queues <= 0:
		errs = append(errs, field.Invalid(path.Child("queues"), q.Queues, "must be positive"))
	case q.Queues > maxQueues:
		errs = append(errs, field.Invalid(path.Child("queues"), q.Queues, fmt.Sprintf("must not be greater than %d", maxQueues)))
	}
	if q.HandSize <= 0 {
		return append(errs, field.Invalid(path.Child("handSize"), q.HandSize, "must be positive"))
	}
	if q.HandSize > q.Queues {
		return append(errs, field.Invalid(path.Child("handSize"), q.HandSize, fmt.Sprintf("should not be greater than queues (%d)", q.Queues)))
	}
	if bits := shufflesharding.RequiredEntropyBits(int(q.Queues), int(q.HandSize)); bits > shufflesharding.MaxHashBits {
		errs = append(errs, field.Invalid(path.Child("handSize"), q.HandSize, fmt.Sprintf("required entropy bits of deckSize %d and handSize %d should not be greater than %d", q.Queues, q.HandSize, shufflesharding.MaxHashBits)))
	}
	return errs
}

func validatePercent(value *int32, path *field.Path) field.ErrorList {
	if value != nil && (*value < 0 || *value > 100) {
		return field.ErrorList{field.Invalid(path, *value, "must be between 0 and 100, inclusive")}
	}
	return nil
}

func validatePriorityLevelConditions(p *flowcontrolv1.PriorityLevelConfiguration, path *field.Path) field.ErrorList {
	var types, reasons []string
	for _, c := range p.Status.Conditions {
		types, reasons = append(types, string(c.Type)), append(reasons, c.Reason)
	}
	return validateConditions(types, reasons, path)
}

// validateConditions requires unique types and reasons that are not empty.
func validateConditions(types, reasons []string, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	seen := map[string]bool{}
	for i, conditionType := range types {
		switch {
		case conditionType == "":
			errs = append(errs, field.Required(path.Index(i).Child("type"), "must not be empty"))
		case seen[conditionType]:
			errs = append(errs, field.Duplicate(path.Index(i).Child("type"), conditionType))
		}
		seen[conditionType] = true
		if reasons[i] == "" {
			errs = append(errs, field.Required(path.Index(i).Child("reason"), "must not be empty"))
		}
	}
	return errs
}
