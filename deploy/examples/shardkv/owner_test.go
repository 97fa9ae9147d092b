package main

import (
	"fmt"
	"testing"
)

// TestOwnersStay holds owners to what they were: instances of two versions of this program serve side by side.
func TestOwnersStay(t *testing.T) {
	for key, want := range map[string][3]uint32{
		"a":      {1, 1, 1},
		"b":      {0, 0, 5},
		"user/1": {1, 1, 1},
		"user/2": {0, 0, 6},
		"ключ":   {1, 2, 2},
	} {
		if got := [3]uint32{owner(key, 2), owner(key, 3), owner(key, 7)}; got != want {
			t.Errorf("%q is owned by %v under the scales 2, 3 and 7, want %v", key, got, want)
		}
	}
}

func TestKeysAreDividedEvenly(t *testing.T) {
	const keys = 20_000
	for _, scale := range []uint32{1, 2, 3, 7, 64} {
		owned := make([]int, scale)
		for n := range keys {
			owned[owner(fmt.Sprintf("user/%d", n), scale)]++
		}
		for ordinal, n := range owned {
			if fair := keys / int(scale); n < fair*3/4 || n > fair*5/4 {
				t.Errorf("slot %d of %d owns %d keys, where %d would be fair", ordinal, scale, n, fair)
			}
		}
	}
}

// TestKeysMoveOnlyWhereSlotsComeOrGo changes the scale by any number of slots: no key moves between two slots that stay.
func TestKeysMoveOnlyWhereSlotsComeOrGo(t *testing.T) {
	for n := range 2000 {
		key := fmt.Sprint("key-", n)
		for less := uint32(1); less < 9; less++ {
			for more := less + 1; more < 10; more++ {
				if before, after := owner(key, less), owner(key, more); before != after && after < less {
					t.Fatalf("%q moves from slot %d to %d between the scales %d and %d", key, before, after, less, more)
				}
			}
		}
	}
}

func TestNobodyOwnsAnythingUnderScaleZero(t *testing.T) {
	if owns(0, "key", 0) {
		t.Error("slot 0 owns a key under scale 0")
	}
}
