# SPDX-License-Identifier: Apache-2.0
"""Filters of OpenCV on a picture that lies on the device."""
import cv2
import numpy as np

picture = np.random.default_rng(1).integers(0, 255, (240, 320, 3)).astype(np.uint8)
color = cv2.UMat(picture)
gray = cv2.cvtColor(color, cv2.COLOR_BGR2GRAY)
soft = cv2.GaussianBlur(gray, (7, 7), 1.5)
print(cv2.ocl.useOpenCL(), cv2.Canny(soft, 50, 100).get().sum(), cv2.resize(soft, (100, 80)).get().sum(),
      cv2.add(color, color).get().sum(), cv2.erode(soft, None).get().sum(),
      cv2.threshold(soft, 100, 255, cv2.THRESH_BINARY)[1].get().sum(),
      cv2.warpAffine(soft, np.float32([[1, 0, 5], [0, 1, 3]]), (320, 240)).get().sum())
