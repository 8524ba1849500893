package frontend

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// someOptions has one option of each sort.
func someOptions() options {
	return options{
		{names: []string{"-m", "--model"}, arg: "MODEL"},
		{names: []string{"-p", "--measurement-interval"}, arg: "MS", kind: whole, defaultValue: "10000"},
		{names: []string{"--measurement-mode"}, arg: "MODE", choices: []string{"a", "b"}, defaultValue: "a"},
		{names: []string{"--rate"}, arg: "R", kind: number, defaultValue: "inf"},
		{names: []string{"-v", "--verbose"}},
		{names: []string{"--streaming"}},
		{names: []string{"-H", "--header"}, arg: "HEADER", repeat: true},
		{names: []string{"-g", "--goodput"}, arg: "NAME:VALUE", list: true},
		{names: []string{"--gone"}, arg: "X", support: refused, note: "do without"},
	}
}

// show writes what was given, in the order of the table.
func (a *arguments) show() string {
	var all []string
	for i := range a.options {
		o := &a.options[i]
		if values, ok := a.given[o]; ok {
			all = append(all, fmt.Sprintf("%s=%q", o.name(), values))
		}
	}
	if a.rest != nil {
		all = append(all, fmt.Sprintf("rest=%q", a.rest))
	}
	return strings.Join(all, " ")
}

func TestParse(t *testing.T) {
	for _, tt := range []struct{ name, args, want string }{
		{"nothing", "", ""},
		{"long and short names", "--model|a|-p|5|-v", `--model=["a"] --measurement-interval=["5"] --verbose=[""]`},
		{"joined by =", "--model=a=b|-p=7", `--model=["a=b"] --measurement-interval=["7"]`},
		{"an empty value", "--model=", `--model=[""]`},
		{"joined to a short name", "-p1000|-mgpt2", `--model=["gpt2"] --measurement-interval=["1000"]`},
		{"a shared dash", "-vp10", `--measurement-interval=["10"] --verbose=[""]`},
		{"cut short", "--mod|a|--stream|--measurement-i|3", `--model=["a"] --measurement-interval=["3"] --streaming=[""]`},
		{"cut short and joined", "--head=A: b", `--header=["A: b"]`},
		{"the last one counts", "-m|a|-m|b", `--model=["b"]`},
		{"or they add up", "-H|A:1|-HB: 2|--header=C:3", `--header=["A:1" "B: 2" "C:3"]`},
		{"a list", "-g|a:1|b:2|-v|-m|x", `--model=["x"] --verbose=[""] --goodput=["a:1" "b:2"]`},
		{"a list is replaced", "-g|a:1|-g|b:2", `--goodput=["b:2"]`},
		{"a list ends at what is joined", "-g=a:1|-v", `--verbose=[""] --goodput=["a:1"]`},
		{"a list ends at the rest", "-g|a:1|--|b:2", `--goodput=["a:1"] rest=["b:2"]`},
		{"negative numbers are values", "-p|-5|--rate|-.5", `--measurement-interval=["-5"] --rate=["-.5"]`},
		{"so is what has a space", "-m|-a b", `--model=["-a b"]`},
		{"and a dash", "-m|-", `--model=["-"]`},
		{"numbers", "--rate|1e3|-p| 7 ", `--measurement-interval=[" 7 "] --rate=["1e3"]`},
		{"what is passed on", "-v|--|-m|a|--|x", `--verbose=[""] rest=["-m" "a" "--" "x"]`},
		{"nothing is passed on", "--", `rest=[]`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var args []string
			if tt.args != "" {
				args = strings.Split(tt.args, "|")
			}
			a, err := someOptions().parse(args)
			if err != nil {
				t.Fatal(err)
			}
			if got := a.show(); got != tt.want {
				t.Errorf("parse(%q) = %s, want %s", args, got, tt.want)
			}
		})
	}
}

func TestParseErrors(t *testing.T) {
	for _, tt := range []struct{ args, want string }{
		{"x", `unexpected argument "x"`},
		{"-v|x", `unexpected argument "x"`},
		{"--nope", "unknown flag --nope"},
		{"--nope|3|-v", "unknown flag --nope"},
		{"-z", "unknown flag -z"},
		{"-vz", "unknown flag -vz"},
		{"-m", "--model needs a value"},
		{"-m|-v", "--model needs a value"},
		{"-m|--", "--model needs a value"},
		{"--measurement|3", "--measurement is ambiguous; it may mean --measurement-interval, --measurement-mode"},
		{"--verbose=1", "--verbose takes no value"},
		{"-p|x", "--measurement-interval x: expected a whole number"},
		{"-p|1.5", "--measurement-interval 1.5: expected a whole number"},
		{"-p|99999999999999999999", "expected a whole number"},
		{"--rate|0x10", "--rate 0x10: expected a number"},
		{"--rate|", "expected a number"},
		{"--measurement-mode|c", "--measurement-mode c: expected a or b"},
		{"--gone|1", "--gone is not supported: do without"},
		{"-p|x|--nope|-m", "--measurement-interval x: expected a whole number\nunknown flag --nope\n--model needs a value"},
	} {
		_, err := someOptions().parse(strings.Split(tt.args, "|"))
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("parse(%q) = %v, want an error with %q", tt.args, err, tt.want)
		}
	}
}

func TestDefaults(t *testing.T) {
	a, err := someOptions().parse([]string{"-v"})
	if err != nil {
		t.Fatal(err)
	}
	if a.text("-p") != "10000" || a.whole("--measurement-interval") != 10000 || a.number("--rate") <= 1e308 || a.text("--model") != "" || a.has("-m") || !a.has("-v") {
		t.Errorf("defaults are not the defaults of the table: %q %d %v", a.text("-p"), a.whole("--measurement-interval"), a.number("--rate"))
	}
}

// The tables are consistent: names are given once, defaults are values that the
// option can have, and nobody gets an option without a word on it.
func TestTables(t *testing.T) {
	for _, tool := range Tools() {
		for _, r := range tool.releases() {
			seen := map[string]bool{}
			for _, o := range r.options {
				for _, n := range o.names {
					if seen[n] {
						t.Errorf("%s: %s is there twice", tool.title(r), n)
					}
					seen[n] = true
				}
				if o.defaultValue != "" {
					if err := o.check(o.defaultValue); err != nil {
						t.Errorf("%s: the default of %v", tool.title(r), err)
					}
				}
				if o.usage == "" && o.note == "" {
					t.Errorf("%s: %s: neither usage nor note", tool.title(r), o.name())
				}
				if (o.support == alias || o.support == unneeded || o.support == refused) && o.note == "" {
					t.Errorf("%s: %s is %v: what instead, or why?", tool.title(r), o.name(), o.support)
				}
			}
		}
	}
}

// A command line never ends in a panic, and one that is taken is taken the same
// when written by the options' full names.
func FuzzParse(f *testing.F) {
	for _, c := range genaiPerfCases(f) {
		f.Add(strings.Join(append([]string{"genai-perf"}, c.Args...), "\x00"))
	}
	for _, line := range documentLines {
		f.Add(strings.Join(strings.Fields(line), "\x00"))
	}
	f.Add("llm_perf\x00-ix\x00--conc=1,,2\x00--\x00--")
	f.Fuzz(func(t *testing.T, line string) {
		args := strings.Split(line, "\x00")
		for _, tool := range Tools() {
			if tool.Name != args[0] {
				continue
			}
			cmd, err := tool.Parse(args[1:])
			if (cmd == nil) == (err == nil) {
				t.Fatalf("%q: command %v, error %v", args, cmd, err)
			}
			if err != nil {
				return
			}
			r, rest, err := tool.choose(tool, args[1:])
			if err != nil {
				t.Fatal(err)
			}
			a, err := r.options.parse(rest)
			if err != nil {
				t.Fatal(err)
			}
			again, err := r.options.parse(a.spelledOut())
			if err != nil {
				t.Fatalf("%q written as %q: %v", rest, a.spelledOut(), err)
			}
			if diff := cmp.Diff(a.show(), again.show()); diff != "" {
				t.Fatalf("%q written as %q:\n%s", rest, a.spelledOut(), diff)
			}
		}
	})
}

// spelledOut is the command line with full names, each value joined to its
// option but for lists.
func (a *arguments) spelledOut() []string {
	var all []string
	for i := range a.options {
		o := &a.options[i]
		values, ok := a.given[o]
		switch {
		case !ok:
		case o.arg == "":
			all = append(all, o.names[len(o.names)-1])
		case o.list && len(values) > 1:
			all = append(append(all, o.name()), values...)
		default:
			for _, v := range values {
				all = append(all, o.name()+"="+v)
			}
		}
	}
	if a.rest != nil {
		all = append(append(all, "--"), a.rest...)
	}
	return slices.Clip(all)
}
