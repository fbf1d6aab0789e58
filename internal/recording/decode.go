package recording

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"reflect"
	"time"

	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/scheduling"
)

// decoder reads what an encoder has written.
type decoder struct {
	buf    []byte
	specs  []*model.PodSpec
	labels []model.Labels
}

// errMalformed is the panic value for data that no encoder has written.
var errMalformed = errors.New("malformed data")

// recoverMalformed turns the panic of a decoder into an error.
func recoverMalformed(err *error) {
	switch r := recover(); r {
	case nil:
	case errMalformed:
		*err = errMalformed
	default:
		panic(r)
	}
}

func (d *decoder) byte() byte {
	if len(d.buf) == 0 {
		panic(errMalformed)
	}
	b := d.buf[0]
	d.buf = d.buf[1:]
	return b
}

func (d *decoder) bool() bool { return d.byte() != 0 }

func (d *decoder) uint() uint64 {
	n, size := binary.Uvarint(d.buf)
	if size <= 0 {
		panic(errMalformed)
	}
	d.buf = d.buf[size:]
	return n
}

func (d *decoder) int() int64 {
	n, size := binary.Varint(d.buf)
	if size <= 0 {
		panic(errMalformed)
	}
	d.buf = d.buf[size:]
	return n
}

// length returns a number of elements. Each has at least one byte.
func (d *decoder) length() int {
	n := d.uint()
	if n > uint64(len(d.buf)) {
		panic(errMalformed)
	}
	return int(n)
}

func (d *decoder) string() string {
	n := d.length()
	s := string(d.buf[:n])
	d.buf = d.buf[n:]
	return s
}

func (d *decoder) time() time.Time {
	if !d.bool() {
		return time.Time{}
	}
	seconds := d.int()
	return time.Unix(seconds, int64(d.uint())).UTC()
}

func (d *decoder) spec() *model.PodSpec {
	n := d.uint()
	switch {
	case n == 0:
		return nil
	case n <= uint64(len(d.specs)):
		return d.specs[n-1]
	case n > uint64(len(d.specs))+1:
		panic(errMalformed)
	}
	s := &model.PodSpec{}
	d.specs = append(d.specs, s)
	d.decode(reflect.ValueOf(s).Elem(), false)
	return s
}

func (d *decoder) sharedLabels() model.Labels {
	n := d.uint()
	switch {
	case n == 0:
		return nil
	case n <= uint64(len(d.labels)):
		return d.labels[n-1]
	case n > uint64(len(d.labels))+1:
		panic(errMalformed)
	}
	l := make(model.Labels, d.length())
	for i := range l {
		l[i].Key = d.string()
		l[i].Value = d.string()
	}
	d.labels = append(d.labels, l)
	return l
}

// decode sets v. With byIdentity, it sets only the identity of objects.
func (d *decoder) decode(v reflect.Value, byIdentity bool) {
	t := v.Type()
	switch t {
	case timeType:
		v.Set(reflect.ValueOf(d.time()))
		return
	case specType:
		v.Set(reflect.ValueOf(d.spec()))
		return
	case labelsType:
		v.Set(reflect.ValueOf(d.sharedLabels()))
		return
	}
	switch t.Kind() {
	case reflect.Bool:
		v.SetBool(d.bool())
	case reflect.String:
		v.SetString(d.string())
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		v.SetInt(d.int())
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		v.SetUint(d.uint())
	case reflect.Float64:
		v.SetFloat(math.Float64frombits(d.uint()))
	case reflect.Struct:
		for i := range t.NumField() {
			d.decode(v.Field(i), byIdentity)
		}
	default:
		d.decodeElements(v, byIdentity)
	}
}

// decodeElements sets a pointer, slice or array, as decode does.
func (d *decoder) decodeElements(v reflect.Value, byIdentity bool) {
	t := v.Type()
	switch t.Kind() {
	case reflect.Pointer:
		if !d.bool() {
			return
		}
		v.Set(reflect.New(t.Elem()))
		if names := identities[t]; byIdentity && names != nil {
			for _, name := range names {
				v.Elem().FieldByName(name).SetString(d.string())
			}
			return
		}
		d.decode(v.Elem(), byIdentity)
	case reflect.Slice:
		n := d.uint()
		if n == 0 {
			return
		}
		if n-1 > uint64(len(d.buf)) {
			panic(errMalformed)
		}
		v.Set(reflect.MakeSlice(t, int(n-1), int(n-1)))
		fallthrough
	default:
		for i := range v.Len() {
			d.decode(v.Index(i), byIdentity)
		}
	}
}

func (d *decoder) event() scheduling.Event {
	switch tag := d.byte(); tag {
	case removeTag:
		return scheduling.Remove{Object: d.object(d.byte())}
	case outcomeTag:
		var o scheduling.Outcome
		d.decode(reflect.ValueOf(&o).Elem(), false)
		return o
	default:
		return d.object(tag)
	}
}

func (d *decoder) object(tag byte) any {
	i := int(tag) - int(objectTag)
	if i < 0 || i >= len(objectTypes) {
		panic(errMalformed)
	}
	v := reflect.New(objectTypes[i])
	d.decode(v.Elem(), false)
	return v.Interface()
}

func (d *decoder) effect() scheduling.Effect {
	i := int(d.byte())
	if i >= len(effectTypes) {
		panic(errMalformed)
	}
	v := reflect.New(effectTypes[i]).Elem()
	d.decode(v, true)
	return v.Interface().(scheduling.Effect)
}

// DecodeEffect returns the effect of an encoding from a Step. Its objects have only their identity.
func DecodeEffect(data []byte) (e scheduling.Effect, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("decoding an effect: %w", err)
		}
	}()
	defer recoverMalformed(&err)
	d := &decoder{buf: data}
	return d.effect(), nil
}
