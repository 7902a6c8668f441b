# SPDX-License-Identifier: Apache-2.0
"""PyTorch's backward pass: the forward operator of each of its operators, by the trace's flows, else by the number of the
sequence. Of several with a number the one that began last before it, if one thread has all of them."""
import collections


def number(one, name):
    value = one.arguments.get(name)
    return value if isinstance(value, int) else None


class Autograd:
    def __init__(self, trace, around):
        self.around = around
        self.operators = [one for one in trace.ranges if (number(one, "Sequence number") or 0) >= 0
                          and number(one, "Sequence number") is not None]
        self.forward, self.at = collections.defaultdict(list), collections.defaultdict(list)
        for one in self.operators:
            if not self.is_backward(one):
                self.forward[one.thread[0], number(one, "Sequence number")].append(one)
            self.at[one.thread, one.start].append(one)
        begins = {(place[0], flow): (place, start) for phase, flow, place, start in trace.flows if phase == "s"}
        self.flows = {(place, start): begins.get((place[0], flow))
                      for phase, flow, place, start in trace.flows if phase == "f"}

    @staticmethod
    def is_backward(one):
        return (number(one, "Fwd thread id") or 0) > 0 and number(one, "Sequence number") is not None

    def forward_of(self, backward):
        sequence = number(backward, "Sequence number")
        place = self.flows.get((backward.thread, backward.start))
        for one in self.at.get(place, ()):
            if number(one, "Sequence number") == sequence and not self.is_backward(one):
                return one
        candidates = [one for one in self.forward.get((backward.thread[0], sequence), ())
                      if one.start < backward.start
                      and not any(map(self.is_backward, self.around(one.thread, one.start)))]
        if len({one.thread for one in candidates}) != 1:
            return None
        return max(candidates, key=lambda one: (one.start, one.end))

    def __call__(self, call):
        """Whether a call is of the backward pass, and the ranges around its forward operator."""
        found = False
        for one in reversed(self.around(call.thread, call.start)):
            if self.is_backward(one):
                found = True
                forward = self.forward_of(one)
                if forward:
                    return True, [r for r in self.around(forward.thread, forward.start)]
        return found, []
