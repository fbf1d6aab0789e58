import { RefObject } from "preact";
import { useEffect, useState } from "preact/hooks";

// useWidth returns the width of an element in pixels, 0 before it is known.
export function useWidth(element: RefObject<Element | null>): number {
  const [width, setWidth] = useState(0);
  useEffect(() => {
    const observer = new ResizeObserver(([e]) => setWidth(Math.floor(e!.contentRect.width)));
    observer.observe(element.current!);
    return () => observer.disconnect();
  }, []);
  return width;
}
