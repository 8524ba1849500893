package main

import (
	"strings"
	"testing"
)

// The events are from go test -json, without their times.
const events = `go test -json ./...
{"ImportPath":"m/broken [m/broken.test]","Action":"build-output","Output":"broken/b_test.go:3:27: undefined: nope\n"}
{"Action":"output","Package":"m","Test":"TestPass","Output":"=== RUN   TestPass\n"}
{"Action":"output","Package":"m","Test":"TestPass","Output":"    s_test.go:3: of no interest\n"}
{"Action":"output","Package":"m","Test":"TestPass","Output":"--- PASS: TestPass (0.00s)\n"}
{"Action":"pass","Package":"m","Test":"TestPass","Elapsed":0}
{"Action":"output","Package":"m","Test":"TestSkip/sub_x","Output":"    s_test.go:4: no such\n"}
{"Action":"output","Package":"m2","Test":"TestFail","Output":"    t_test.go:6: wrong\n"}
{"Action":"output","Package":"m","Test":"TestSkip/sub_x","Output":"        thing\n"}
{"Action":"output","Package":"m","Test":"TestSkip/sub_x","Output":"--- SKIP: TestSkip/sub_x (0.00s)\n"}
{"Action":"skip","Package":"m","Test":"TestSkip/sub_x","Elapsed":0}
{"Action":"output","Package":"m","Output":"PASS\n"}
{"Action":"output","Package":"m","Output":"ok  \tm\t0.006s\n"}
{"Action":"output","Package":"m2","Test":"TestFail","Output":"--- FAIL: TestFail (0.00s)\n"}
{"Action":"fail","Package":"m2","Test":"TestFail","Elapsed":0}
{"Action":"output","Package":"m2","Test":"TestExit","Output":"    t_test.go:9: the last\n"}
{"Action":"output","Package":"m2","Output":"exit status 3\n"}
{"Action":"output","Package":"m2","Output":"FAIL\tm2\t0.006s\n"}
{"Action":"output","Package":"m/nothing","Output":"?   \tm/nothing\t[no test files]\n"}
{"Action":"skip","Package":"m/nothing","Elapsed":0}
make: *** [Makefile:33: test] Error 1
`

const log = `go test -json ./...
broken/b_test.go:3:27: undefined: nope
ok  	m	0.006s
    t_test.go:6: wrong
--- FAIL: TestFail (0.00s)
exit status 3
FAIL	m2	0.006s
?   	m/nothing	[no test files]
make: *** [Makefile:33: test] Error 1
m2 TestExit did not end:
    t_test.go:9: the last

skipped tests:
  m TestSkip/sub_x: s_test.go:4: no such; thing
`

const long = `{"Action":"output","Package":"m","Test":"TestSweep","Output":"    s_test.go:4: left to make test-long\n"}
{"Action":"output","Package":"m","Test":"TestSweep","Output":"--- SKIP: TestSweep (0.00s)\n"}
{"Action":"skip","Package":"m","Test":"TestSweep","Elapsed":0}
`

// The log lists the tests that took a second or longer, without their subtests.
const slow = `{"Action":"pass","Package":"m","Test":"TestQuick","Elapsed":0.99}
{"Action":"pass","Package":"m","Test":"TestSlow","Elapsed":1.25}
{"Action":"pass","Package":"m","Test":"TestSlowest/sub","Elapsed":70}
{"Action":"pass","Package":"m","Test":"TestSlowest","Elapsed":112.5}
{"Action":"pass","Package":"m","Elapsed":114}
`

const slowest = `
skipped tests:
  none

slowest tests, in seconds:
  112.5  m TestSlowest
    1.2  m TestSlow
`

func TestDigest(t *testing.T) {
	for _, tt := range []struct{ name, events, want string }{
		{"passed, skipped, failed, ended in the middle", events, log},
		{"edge: nothing", "", "\nskipped tests:\n  none\n"},
		{"slow tests", slow, slowest},
		{"a long test", long, "\nskipped tests:\n  none\nleft to make test-long: 1\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var out strings.Builder
			if err := digest(strings.NewReader(tt.events), &out); err != nil || out.String() != tt.want {
				t.Errorf("%v, got\n%s\nwant\n%s", err, out.String(), tt.want)
			}
		})
	}
}
