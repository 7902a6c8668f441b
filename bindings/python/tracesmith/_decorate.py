# SPDX-License-Identifier: Apache-2.0
"""@tracesmith.range(...): a range around every call of a function."""
import functools
import inspect

from tracesmith._native import range as make_range


def decorate(function, name, flops, bytes):
    """A function that does the same, with a range from the call to the end.

    Of a coroutine function the range lasts until the coroutine ends, of a generator function until the generator ends or is
    closed: the time that it is suspended is part of it.
    """
    if isinstance(function, (staticmethod, classmethod)):
        return type(function)(decorate(function.__func__, name, flops, bytes))
    if inspect.isasyncgenfunction(function):
        return _async_generator(function, name, flops, bytes)
    if inspect.iscoroutinefunction(function):

        @functools.wraps(function)
        async def decorated(*args, **kwargs):
            with make_range(name, flops=flops, bytes=bytes):
                return await function(*args, **kwargs)

    elif inspect.isgeneratorfunction(function):

        @functools.wraps(function)
        def decorated(*args, **kwargs):
            with make_range(name, flops=flops, bytes=bytes):
                return (yield from function(*args, **kwargs))

    elif callable(function):

        @functools.wraps(function)
        def decorated(*args, **kwargs):
            with make_range(name, flops=flops, bytes=bytes):
                return function(*args, **kwargs)

    else:
        raise TypeError(f"a range decorates a function, not {type(function).__name__}")
    return decorated


def _async_generator(function, name, flops, bytes):
    @functools.wraps(function)
    async def decorated(*args, **kwargs):
        with make_range(name, flops=flops, bytes=bytes):
            generator = function(*args, **kwargs)
            try:
                sent = None
                while True:
                    try:
                        item = await generator.asend(sent)
                    except StopAsyncIteration:
                        return
                    try:
                        sent = yield item
                    except GeneratorExit:
                        raise
                    except BaseException as thrown:
                        item = await generator.athrow(thrown)
                        sent = yield item
            finally:
                await generator.aclose()

    return decorated
